# The benchmark's dumbbell in ns-2, as one JSON line on standard output.
#
#   ns dumbbell.tcl FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC ACK_EVERY
#
# CC is reno (Agent/TCP/Sack1) or cubic (Agent/TCP/Linux, with SACK too); ACK_EVERY is 1 or 2.

if {$argc != 6} {
    puts stderr "usage: ns dumbbell.tcl FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC ACK_EVERY"
    exit 2
}
lassign $argv flows rate duration queue cc ackEvery

# Each of ns-2's several dozen packet headers costs memory traffic in every packet: only these
# three are needed here.
remove-all-packet-headers
add-packet-header IP TCP Flags

# 1,460 bytes and the 40 bytes of headers that the agent adds: 1,500 bytes on the links.
set payload 1460
set wire 1500
set access 1000Mb
set accessDelay 1ms
set bottleneckDelay 20ms
# Loss is for the bottleneck alone.
set unlimited 1000000

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $bottleneckDelay DropTail
$ns queue-limit $left $right $queue
$ns queue-limit $right $left $unlimited

proc host {router} {
    global ns access accessDelay unlimited
    set node [$ns node]
    $ns duplex-link $node $router $access $accessDelay DropTail
    $ns queue-limit $node $router $unlimited
    $ns queue-limit $router $node $unlimited
    return $node
}

proc sender {cc} {
    global payload unlimited
    switch $cc {
        reno {
            set tcp [new Agent/TCP/Sack1]
        }
        cubic {
            set tcp [new Agent/TCP/Linux]
            $tcp set timestamps_ true
            # Timestamps would make packets of 1,510 bytes.
            $tcp set ts_option_size_ 0
        }
        default {
            puts stderr "unknown congestion control $cc: reno or cubic"
            exit 2
        }
    }
    $tcp set packetSize_ $payload
    $tcp set window_ $unlimited
    $tcp set windowInit_ 10
    return $tcp
}

proc receiver {cc ackEvery} {
    if {$ackEvery == 1} {
        set sink [new Agent/TCPSink/Sack1]
    } else {
        set sink [new Agent/TCPSink/Sack1/DelAck]
    }
    if {$cc == "cubic"} {
        $sink set ts_echo_rfc1323_ true
    }
    return $sink
}

# Ten hosts a side at most: static routing grows with the cube of the nodes.
set hosts [expr {$flows < 10 ? $flows : 10}]
for {set i 0} {$i < $hosts} {incr i} {
    set source($i) [host $left]
    set drain($i) [host $right]
}
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [sender $cc]
    set sink($i) [receiver $cc $ackEvery]
    $ns attach-agent $source([expr {$i % $hosts}]) $tcp($i)
    $ns attach-agent $drain([expr {$i % $hosts}]) $sink($i)
    $ns connect $tcp($i) $sink($i)
    if {$cc == "cubic"} {
        $ns at 0 "$tcp($i) select_ca cubic"
    }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {0.1 * $i / $flows}] "$ftp start"
}

proc finish {} {
    global tcp sink flows wire
    set delivered 0
    set sent 0
    set retransmitted 0
    for {set i 0} {$i < $flows} {incr i} {
        # A sink counts the headers of what it delivers in order, and its first packet is a SYN.
        incr delivered [expr {int([$sink($i) set bytes_]) / $wire}]
        incr sent [$tcp($i) set ndatapack_]
        incr retransmitted [$tcp($i) set nrexmitpack_]
    }
    puts "{\"data_packets\": $delivered, \"data_packets_sent\": $sent, \"retransmitted\": $retransmitted}"
    exit 0
}
$ns at $duration finish
$ns run

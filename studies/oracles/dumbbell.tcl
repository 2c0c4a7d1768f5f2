# One or two ns-2 flows over a drop-tail bottleneck, as one JSON line on standard output.
#
#   ns dumbbell.tcl RATE_MBPS RTT_MS LIMIT_PACKETS DURATION_S VARIANT START_S [VARIANT START_S]
#
# A variant is tahoe, reno, newreno, sack or vegas; the line tells of the first flow, and of the
# bottleneck's queue. Packets are of 1,500 bytes; everything else is as ns-2 sets it by default.

if {$argc != 6 && $argc != 8} {
    puts stderr "usage: ns dumbbell.tcl RATE_MBPS RTT_MS LIMIT_PACKETS DURATION_S VARIANT START_S ?VARIANT START_S?"
    exit 2
}
set flows [expr {($argc - 4) / 2}]
lassign $argv rate rtt limit duration

array set agents {
    tahoe Agent/TCP
    reno Agent/TCP/Reno
    newreno Agent/TCP/Newreno
    sack Agent/TCP/Sack1
    vegas Agent/TCP/Vegas
}
set payload 1460
set wire 1500
# Loss is for the bottleneck alone, and no flow is held back by its receiver.
set unlimited 1000000
set window 20000

remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb 2ms DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left $unlimited
set monitor [$ns monitor-queue $left $right ""]

proc link {from to delay} {
    global ns unlimited
    $ns duplex-link $from $to 1000Mb ${delay}ms DropTail
    $ns queue-limit $from $to $unlimited
    $ns queue-limit $to $from $unlimited
}

for {set i 0} {$i < $flows} {incr i} {
    lassign [lrange $argv [expr {4 + 2 * $i}] [expr {5 + 2 * $i}]] variant start
    if {![info exists agents($variant)]} {
        puts stderr "unknown variant $variant: [lsort [array names agents]]"
        exit 2
    }
    set source [$ns node]
    set drain [$ns node]
    # What the round trip has beside the bottleneck's and the receiver's delay, both ways.
    link $source $left [expr {$rtt / 2.0 - 3}]
    link $right $drain 1
    set tcp($i) [new $agents($variant)]
    $tcp($i) set packetSize_ $payload
    $tcp($i) set window_ $window
    set sink($i) [new Agent/TCPSink[expr {$variant == "sack" ? "/Sack1" : ""}]]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $drain $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at $start "$ftp start"
}

proc finish {} {
    global tcp sink monitor duration wire payload
    # The sink counts what it delivers in order with its headers; its first packet is a SYN.
    set packets [expr {int([$sink(0) set bytes_]) / $wire}]
    set integrator [$monitor get-pkts-integrator]
    set queued [expr {[$integrator set sum_] / double($duration)}]
    set line "{\"bytes\": [expr {$packets * $payload}],"
    append line " \"retransmits\": [$tcp(0) set nrexmitpack_],"
    append line " \"queue_packets\": $queued}"
    puts $line
    exit 0
}
$ns at $duration finish
$ns run

# ns-2 flows of several flavours over a drop-tail bottleneck: one line per flow on standard output,
# the packets that its receiver delivered in order.
#
#   ns dumbbell.tcl RATE DELAY LIMIT ACCESS_RATE ACCESS_DELAY WINDOW DURATION NOISE SEED FLAVOUR START [FLAVOUR START]...
#
# Rates are in bit/s, times in seconds, LIMIT and WINDOW in packets; NOISE is the rate of
# small packets at random times, SEED that of its dice. A flavour is reno, newreno, sack or vegas. Packets have 1,000 bytes on every link; everything else is as ns-2 sets it by
# default.

if {$argc < 11 || $argc % 2 == 0} {
    puts stderr "usage: ns dumbbell.tcl RATE DELAY LIMIT ACCESS_RATE ACCESS_DELAY WINDOW DURATION NOISE SEED FLAVOUR START ?FLAVOUR START?..."
    exit 2
}
lassign $argv rate delay limit accessRate accessDelay window duration noise seed
set flows [lrange $argv 9 end]

array set agents {
    reno Agent/TCP/Reno
    newreno Agent/TCP/Newreno
    sack Agent/TCP/Sack1
    vegas Agent/TCP/Vegas
}
# Only the bottleneck's queue drops.
set unlimited 1000000

remove-all-packet-headers
add-packet-header IP TCP RTP Flags

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $delay DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left $unlimited

proc link {from to} {
    global ns unlimited accessRate accessDelay
    $ns duplex-link $from $to $accessRate $accessDelay DropTail
    $ns queue-limit $from $to $unlimited
    $ns queue-limit $to $from $unlimited
}

set sinks {}
foreach {flavour start} $flows {
    if {![info exists agents($flavour)]} {
        puts stderr "unknown flavour $flavour: [lsort [array names agents]]"
        exit 2
    }
    set source [$ns node]
    set drain [$ns node]
    link $source $left
    link $right $drain
    set tcp [new $agents($flavour)]
    # Every agent adds 40 bytes of headers to its packets, but for Vegas.
    $tcp set packetSize_ [expr {$flavour == "vegas" ? 1000 : 960}]
    $tcp set window_ $window
    set sink [new Agent/TCPSink[expr {$flavour == "sack" ? "/Sack1" : ""}]]
    $ns attach-agent $source $tcp
    $ns attach-agent $drain $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    lappend sinks $sink
}

# An on-off source whose bursts are of one packet each is a Poisson process.
if {$noise > 0} {
    $defaultRNG seed $seed
    set source [$ns node]
    set drain [$ns node]
    link $source $left
    link $right $drain
    set udp [new Agent/UDP]
    set void [new Agent/Null]
    $ns attach-agent $source $udp
    $ns attach-agent $drain $void
    $ns connect $udp $void
    set random [new Application/Traffic/Exponential]
    $random set packetSize_ 64
    $random set burst_time_ 0
    $random set idle_time_ [expr {8.0 * 64 / $noise}]
    $random set rate_ 1e12
    $random attach-agent $udp
    $ns at 0 "$random start"
}

proc finish {} {
    global sinks
    foreach sink $sinks {
        # The SYN, of 40 bytes or of a whole packet, is the first that the sink counts.
        puts [expr {int(([$sink set bytes_] - 40) / 1000)}]
    }
    exit 0
}
$ns at $duration finish
$ns run

# One ns-2 flow over one bottleneck, as one JSON line on standard output.
#
#   ns one-flow.tcl VARIANT WINDOW_PACKETS QUEUE_PACKETS ACK_EVERY
#
# VARIANT is tahoe, reno, newreno or sack; ACK_EVERY is 1 or 2. Everything else is as ns-2 sets it
# by default.

if {$argc != 4} {
    puts stderr "usage: ns one-flow.tcl VARIANT WINDOW_PACKETS QUEUE_PACKETS ACK_EVERY"
    exit 2
}
lassign $argv variant window queue ackEvery

array set agents {
    tahoe Agent/TCP
    reno Agent/TCP/Reno
    newreno Agent/TCP/Newreno
    sack Agent/TCP/Sack1
}
if {![info exists agents($variant)]} {
    puts stderr "unknown variant $variant: [lsort [array names agents]]"
    exit 2
}

set duration 60
set ns [new Simulator]
set source [$ns node]
set left [$ns node]
set right [$ns node]
set drain [$ns node]
$ns duplex-link $source $left 100Mb 2ms DropTail
$ns duplex-link $left $right 10Mb 20ms DropTail
$ns duplex-link $right $drain 100Mb 2ms DropTail
foreach {from to} [list $source $left $right $drain $drain $right $right $left $left $source] {
    $ns queue-limit $from $to 1000000
}
$ns queue-limit $left $right $queue
set monitor [$ns monitor-queue $left $right ""]

set tcp [new $agents($variant)]
$tcp set window_ $window
set sinkClass Agent/TCPSink
if {$variant == "sack"} {
    append sinkClass /Sack1
}
if {$ackEvery == 2} {
    append sinkClass /DelAck
}
set sink [new $sinkClass]
$ns attach-agent $source $tcp
$ns attach-agent $drain $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"

proc finish {} {
    global variant window queue ackEvery duration tcp sink monitor
    # The sink counts what it delivers in order: 1,000 bytes and 40 of headers a packet, and the
    # 40 of the SYN.
    set packets [expr {(int([$sink set bytes_]) - 40) / 1040}]
    set line "{\"variant\": \"$variant\", \"window_packets\": $window,"
    append line " \"queue_packets\": $queue, \"ack_every\": $ackEvery, \"duration_s\": $duration,"
    append line " \"packets_delivered\": $packets, \"bytes_acked\": [expr {$packets * 1000}],"
    # The SYN is the packet numbered 0.
    append line " \"packets_sent\": [expr {[$tcp set ndatapack_] - 1}],"
    append line " \"retransmissions\": [$tcp set nrexmitpack_],"
    append line " \"timeouts\": [$tcp set nrexmit_], \"window_cuts\": [$tcp set ncwndcuts_],"
    append line " \"drops\": [$monitor set pdrops_]}"
    puts $line
    exit 0
}
$ns at $duration finish
$ns run

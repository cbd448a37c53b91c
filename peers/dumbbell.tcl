# One dumbbell in ns-2.35:  ns dumbbell.tcl KEY VALUE ...   (keys and defaults below)
#
#   source i -- 10x rate, rtt/8 --> left -- rate, rtt/4 --> right -- 10x rate, rtt/8 --> sink i
#
# Flows of the reverse direction go from right to left over links of their own. Results are printed as
# "name value" lines; the names that end in .fwd and .rev belong to the two directions of the bottleneck.

array set opt {
    protocol xcp      queue xcp          rate 150e6      rtt 0.08
    forward 30        reverse 0
    buffer 1500000    buffer_unit bytes
    duration 30       warmup 12          start_window 1
    seed 1            minrto 0.2         data_bytes 1000  initial_window 1
}
foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "dumbbell.tcl: unknown key $key"; exit 2 }
    set opt($key) $value
}

# All headers at once cost half the speed.
remove-all-packet-headers
add-packet-header IP TCP Flags XCP

set ack_bytes 40
set unlimited 100000000

proc configure_agents {} {
    global opt
    Agent/TCP set packetSize_ $opt(data_bytes)
    Agent/TCP set useHeaders_ false          ;# packetSize_ is the size on the wire
    Agent/TCP set window_ 1000000            ;# never the limit
    Agent/TCP set tcpTick_ 0.001             ;# the default granularity, 10 ms, is coarser than short RTTs
    Agent/TCP set timestamps_ true           ;# one RTT sample for each ACK
    Agent/TCP set minrto_ $opt(minrto)
    Agent/TCP set windowInit_ $opt(initial_window)
    Agent/TCP set syn_ false                 ;# no handshake: the first packet is data
    Agent/TCP set delay_growth_ false        ;# goes with syn_: else the window starts at 1 whatever windowInit_
    Agent/TCP set ecn_ [expr {$opt(queue) eq "red-ecn"}]
}

# DropTail drops when length + arrival >= limit: one more unit makes the buffer hold what it says. With a
# mean packet size of 1, the limit of a byte-counted queue is exact.
proc limit_fifo {queue} {
    global opt
    $queue set queue_in_bytes_ [expr {$opt(buffer_unit) eq "bytes"}]
    $queue set mean_pktsize_ 1
    $queue set limit_ [expr {int($opt(buffer)) + 1}]
}

# Thresholds at 1/3 and 2/3 of the buffer, max_p 0.1, gentle.
proc configure_red {queue} {
    global opt
    set in_bytes [expr {$opt(buffer_unit) eq "bytes"}]
    set packets [expr {$in_bytes ? $opt(buffer) / double($opt(data_bytes)) : double($opt(buffer))}]
    $queue set queue_in_bytes_ $in_bytes
    $queue set mean_pktsize_ $opt(data_bytes)
    $queue set limit_ [expr {int($packets)}]
    $queue set thresh_ [expr {$packets / 3}]
    $queue set maxthresh_ [expr {$packets * 2 / 3}]
    $queue set q_weight_ 0.002
    $queue set linterm_ 10
    $queue set gentle_ true
    $queue set bytes_ false                  ;# the same probability for ACKs and data
    $queue set wait_ false                   ;# p / (1 - count p), as in the RED paper
    $queue set setbit_ true
    $queue set use_mark_p_ false             ;# else ECN packets are dropped above probability 0.1
}

proc configure_bottleneck {queue} {
    global opt
    switch $opt(queue) {
        xcp {
            $queue set-link-capacity $opt(rate)      ;# 0 until set
            limit_fifo [$queue set vq_(0)]           ;# the queue that data and ACKs of XCP flows share
        }
        red-ecn { configure_red $queue }
        droptail { limit_fifo $queue }
    }
}

proc connect_bottleneck {left right} {
    global ns opt
    array set kinds {xcp XCP red-ecn RED droptail DropTail}
    $ns duplex-link $left $right $opt(rate) [expr {$opt(rtt) / 4.0}] $kinds($opt(queue))
    configure_bottleneck [[$ns link $left $right] queue]
    configure_bottleneck [[$ns link $right $left] queue]
}

proc add_host {gateway} {
    global ns opt unlimited
    set host [$ns node]
    $ns duplex-link $host $gateway [expr {10.0 * $opt(rate)}] [expr {$opt(rtt) / 8.0}] DropTail
    $ns queue-limit $host $gateway $unlimited
    $ns queue-limit $gateway $host $unlimited
    return $host
}

proc add_flow {from to} {
    global ns opt defaultRNG
    array set sources {xcp TCP/Reno/XCP reno TCP/Reno sack TCP/Sack1}
    array set sinks {xcp TCPSink/XCPSink reno TCPSink sack TCPSink/Sack1}
    set source [new Agent/$sources($opt(protocol))]
    set sink [new Agent/$sinks($opt(protocol))]
    $ns attach-agent [add_host $from] $source
    $ns attach-agent [add_host $to] $sink
    $ns connect $source $sink
    set application [$source attach-app FTP]
    $ns at [$defaultRNG uniform 0 $opt(start_window)] "$application start"
}

# The monitor's counters read as 32 bits (2^31 bytes are 17 s at 1 Gb/s), so they are read every second and
# their differences, modulo 2^32, summed here: total(COUNTER.DIRECTION).
set counters {parrivals_ pdepartures_ bdepartures_ pdrops_ bdrops_ pmarks_}

proc read_counters {} {
    global monitor counters last total
    foreach direction {fwd rev} {
        foreach counter $counters {
            set now [$monitor($direction) set $counter]
            set key $counter.$direction
            incr total($key) [expr {($now - $last($key)) & 0xffffffff}]
            set last($key) $now
        }
    }
}

proc read_counters_every_second {} {
    global ns
    read_counters
    $ns at [expr {[$ns now] + 1.0}] read_counters_every_second
}

# The integral of the queue (KIND pkts or bytes) up to now. The monitor sits around the queue alone, so the
# packet in service does not count.
proc queue_integral {kind direction} {
    global ns monitor
    set integrator [$monitor($direction) get-$kind-integrator]
    $integrator newpoint [$ns now] [$integrator set lasty_]
    return [$integrator set sum_]
}

proc end_warmup {} {
    global total at_warmup
    read_counters
    array set at_warmup [array get total]
    foreach direction {fwd rev} {
        foreach kind {pkts bytes} {
            set at_warmup($kind.$direction) [queue_integral $kind $direction]
        }
    }
}

proc finish {} {
    global ns loop_start loop_end
    set loop_end [clock microseconds]
    read_counters
    $ns halt
}

proc after_warmup {counter direction} {
    global total at_warmup
    return [expr {$total($counter.$direction) - $at_warmup($counter.$direction)}]
}

# n drops of b bytes in all are (1000 n - b) / 960 ACKs when data has 1000 bytes and an ACK 40.
proc ack_drops {direction} {
    global opt ack_bytes total
    set excess [expr {$opt(data_bytes) * $total(pdrops_.$direction) - $total(bdrops_.$direction)}]
    return [expr {$excess / ($opt(data_bytes) - $ack_bytes)}]
}

proc report_direction {direction} {
    global opt total at_warmup
    set span [expr {double($opt(duration) - $opt(warmup))}]
    set bits [expr {8.0 * [after_warmup bdepartures_ $direction]}]
    puts "utilization_ratio.$direction [expr {$bits / ($span * $opt(rate))}]"
    foreach kind {pkts bytes} {
        set integral [expr {[queue_integral $kind $direction] - $at_warmup($kind.$direction)}]
        puts "queue_mean_$kind.$direction [expr {$integral / $span}]"
    }
    puts "arrivals_pkts.$direction [after_warmup parrivals_ $direction]"
    puts "drops_pkts.$direction [after_warmup pdrops_ $direction]"
    puts "marks_pkts.$direction [after_warmup pmarks_ $direction]"
    puts "total_drops_pkts.$direction $total(pdrops_.$direction)"
    puts "total_ack_drops_pkts.$direction [ack_drops $direction]"
}

# A packet that reaches the bottleneck's queue has crossed one link; one that leaves it crosses two more.
# Exact up to the packets in flight at the end.
proc packet_hops {} {
    global total
    set hops 0
    foreach direction {fwd rev} {
        incr hops [expr {$total(parrivals_.$direction) + 2 * $total(pdepartures_.$direction)}]
    }
    return $hops
}

proc peak_rss_bytes {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+) kB} [read $file] -> kilobytes
    close $file
    return [expr {$kilobytes * 1024}]
}

set ns [new Simulator]
$ns use-scheduler Calendar
$defaultRNG seed $opt(seed)
configure_agents
set left [$ns node]
set right [$ns node]
connect_bottleneck $left $right
for {set i 0} {$i < $opt(forward)} {incr i} { add_flow $left $right }
for {set i 0} {$i < $opt(reverse)} {incr i} { add_flow $right $left }
set monitor(fwd) [$ns monitor-queue $left $right ""]
set monitor(rev) [$ns monitor-queue $right $left ""]
foreach direction {fwd rev} {
    foreach counter $counters {
        set last($counter.$direction) 0
        set total($counter.$direction) 0
    }
}
# "$ns run" computes the routes first: the clock starts at the first event.
$ns at 0.0 {set loop_start [clock microseconds]}
$ns at 0.0 read_counters_every_second
$ns at $opt(warmup) end_warmup
$ns at $opt(duration) finish
$ns run

report_direction fwd
report_direction rev
puts "packet_hops [packet_hops]"
puts "wall_s [expr {($loop_end - $loop_start) / 1e6}]"
puts "peak_rss_bytes [peak_rss_bytes]"

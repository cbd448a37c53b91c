# One dumbbell in ns-2.35:  ns dumbbell.tcl KEY VALUE ...   (keys and defaults below)
#
#   source i -- access x rate, rtt/8 --> left -- rate, rtt/4 --> right -- access x rate, rtt/8 --> sink i
#
# Flows of the reverse direction go from right to left over links of their own. Results are printed as
# "name value" lines; the names that end in .fwd and .rev belong to the two directions of the bottleneck.

array set opt {
    protocol xcp      queue xcp          rate 150e6      rtt 0.08
    forward 30        reverse 0
    buffer 1500000    buffer_unit bytes
    duration 30       warmup 12          start_window 1
    seed 1            minrto 0.2         data_bytes 1000  initial_window 1
    pi_a 1.822e-5     pi_b 1.816e-5      pi_w 170
    congestion reno   access 10.0
}
source [file join [file dirname [info script]] common.tcl]

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
    global ns
    stop_clocks
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

set access_owd [expr {$opt(rtt) / 8.0}]
new_simulator
set left [$ns node]
set right [$ns node]
connect_bottleneck $left $right [expr {$opt(rtt) / 4.0}]
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
$ns at 0.0 start_clocks
$ns at 0.0 read_counters_every_second
$ns at $opt(warmup) end_warmup
$ns at $opt(duration) finish
$ns run

puts ""                                      ;# TCP/Linux may have left half a line
report_direction fwd
report_direction rev
puts "packet_hops [packet_hops]"
report_clocks
puts "peak_rss_bytes [peak_rss_bytes]"

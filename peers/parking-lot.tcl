# A parking lot in ns-2.35, XCP over XCP queues:  ns parking-lot.tcl KEY VALUE ...   (keys and defaults below)
#
#   node 0 -- rate, link_owd -- node 1 -- ... -- node LINKS
#
# In each direction, `long` flows cross all links and `cross` flows each link alone. Every host has an access
# link of its own, 10x the rate. Results are printed as "name value" lines.

array set opt {
    links 9           rate 100e6         link_owd 0.01   access_owd 0.005
    long 10           cross 10
    buffer 2500000    buffer_unit bytes
    duration 30       start_window 1     seed 1          minrto 0.2
    protocol xcp      queue xcp          data_bytes 1000 initial_window 1     access 10.0
}
source [file join [file dirname [info script]] common.tcl]

proc add_flows {count from to} {
    global flows
    for {set i 0} {$i < $count} {incr i} { lappend flows [add_flow $from $to] }
}

proc add_flows_both_ways {count left right} {
    add_flows $count $left $right
    add_flows $count $right $left
}

# A packet that leaves a link's queue crosses the link.
proc link_hops {} {
    global monitors
    set hops 0
    foreach monitor $monitors { incr hops [$monitor set pdepartures_] }
    return $hops
}

# Data crosses its source's link and its sink's, the ACK the same two. Exact up to the packets in flight at the
# end and the drops.
proc access_hops {} {
    global flows
    set hops 0
    foreach flow $flows { incr hops [expr {[$flow set ndatapack_] + 3 * [$flow set nackpack_]}] }
    return $hops
}

proc finish {} {
    global ns
    stop_clocks
    $ns halt
}

set access_owd $opt(access_owd)
set flows {}
set monitors {}
new_simulator
for {set i 0} {$i <= $opt(links)} {incr i} { set node($i) [$ns node] }
for {set i 1} {$i <= $opt(links)} {incr i} {
    set before [expr {$i - 1}]
    connect_bottleneck $node($before) $node($i) $opt(link_owd)
    lappend monitors [$ns monitor-queue $node($before) $node($i) ""]
    lappend monitors [$ns monitor-queue $node($i) $node($before) ""]
    add_flows_both_ways $opt(cross) $node($before) $node($i)
}
add_flows_both_ways $opt(long) $node(0) $node($opt(links))
# "$ns run" computes the routes first: the clock starts at the first event.
$ns at 0.0 start_clocks
$ns at $opt(duration) finish
$ns run

puts "packet_hops [expr {[link_hops] + [access_hops]}]"
report_clocks
puts "peak_rss_bytes [peak_rss_bytes]"

# What dumbbell.tcl and parking-lot.tcl share. They set the defaults in `opt` before, and `access_owd`, the
# one-way delay of every access link, before the first host.

foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "unknown key $key"; exit 2 }
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
    Agent/TCP set ecn_ [string match *-ecn $opt(queue)]
}

# DropTail drops when length + arrival >= limit: one more unit makes the buffer hold what it says. With a
# mean packet size of 1, the limit of a byte-counted queue is exact.
proc limit_fifo {queue} {
    global opt
    $queue set queue_in_bytes_ [expr {$opt(buffer_unit) eq "bytes"}]
    $queue set mean_pktsize_ 1
    $queue set limit_ [expr {int($opt(buffer)) + 1}]
}

# The buffer in full packets.
proc packets_of_buffer {} {
    global opt
    return [expr {$opt(buffer_unit) eq "bytes" ? $opt(buffer) / double($opt(data_bytes)) : double($opt(buffer))}]
}

# Thresholds at 1/3 and 2/3 of the buffer, max_p 0.1, gentle.
proc configure_red {queue} {
    global opt
    set in_bytes [expr {$opt(buffer_unit) eq "bytes"}]
    set packets [packets_of_buffer]
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

proc set_all {queue values} {
    foreach {name value} $values { $queue set $name $value }
}

# An update each 10 packets' transmission time, a third of the buffer to wait.
proc configure_rem {queue} {
    global opt
    set_all $queue [list qib_ [expr {$opt(buffer_unit) eq "bytes"}] mean_pktsize_ $opt(data_bytes) limit_ [expr {int([packets_of_buffer])}] \
        phi_ 1.001 gamma_ 0.001 inw_ 1 pbo_ [expr {[packets_of_buffer] / 3}] markpkts_ false \
        pupdtime_ [expr {10 * 8.0 * $opt(data_bytes) / $opt(rate)}]]
}

# The adaptive virtual queue; its alpha, 0.15, is in the code.
proc configure_vq {queue} {
    global opt
    set_all $queue [list queue_in_bytes_ true mean_pktsize_ $opt(data_bytes) gamma_ 0.98 ecnlim_ 0.8 \
        limit_ [expr {int([packets_of_buffer])}] buflim_ 1.0 markpkts_ false]
}

proc configure_pi {queue} {
    global opt
    set_all $queue [list queue_in_bytes_ true bytes_ false mean_pktsize_ $opt(data_bytes) setbit_ false \
        limit_ [expr {int([packets_of_buffer])}] a_ $opt(pi_a) b_ $opt(pi_b) w_ $opt(pi_w) \
        qref_ [expr {[packets_of_buffer] / 4}]]
}

proc configure_bottleneck {queue} {
    global opt
    switch $opt(queue) {
        xcp {
            $queue set-link-capacity $opt(rate)      ;# 0 until set
            limit_fifo [$queue set vq_(0)]           ;# the queue that data and ACKs of XCP flows share
        }
        red-ecn { configure_red $queue }
        red { configure_red $queue; $queue set setbit_ false }
        rem-ecn { configure_rem $queue; $queue set markpkts_ true }
        rem { configure_rem $queue }
        avq { configure_vq $queue }
        pi { configure_pi $queue }
        droptail { limit_fifo $queue }
    }
}

proc connect_bottleneck {left right owd} {
    global ns opt
    array set kinds {xcp XCP red-ecn RED red RED rem REM rem-ecn REM avq Vq pi PI droptail DropTail}
    $ns duplex-link $left $right $opt(rate) $owd $kinds($opt(queue))
    configure_bottleneck [[$ns link $left $right] queue]
    configure_bottleneck [[$ns link $right $left] queue]
}

proc add_host {gateway} {
    global ns opt access_owd unlimited
    set host [$ns node]
    $ns duplex-link $host $gateway [expr {$opt(access) * $opt(rate)}] $access_owd DropTail
    $ns queue-limit $host $gateway $unlimited
    $ns queue-limit $gateway $host $unlimited
    return $host
}

proc add_flow {from to} {
    global ns opt defaultRNG
    array set sources {xcp TCP/Reno/XCP reno TCP/Reno sack TCP/Sack1 linux TCP/Linux}
    array set sinks {xcp TCPSink/XCPSink reno TCPSink sack TCPSink/Sack1 linux TCPSink/Sack1}
    set source [new Agent/$sources($opt(protocol))]
    set sink [new Agent/$sinks($opt(protocol))]
    $ns attach-agent [add_host $from] $source
    $ns attach-agent [add_host $to] $sink
    $ns connect $source $sink
    if {$opt(protocol) eq "linux"} {
        $sink set ts_echo_rfc1323_ true      ;# its RTT samples come from the echoed time
        $ns at 0 "$source select_ca $opt(congestion)"
    }
    set application [$source attach-app FTP]
    $ns at [$defaultRNG uniform 0 $opt(start_window)] "$application start"
    return $source
}

proc peak_rss_bytes {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+) kB} [read $file] -> kilobytes
    close $file
    return [expr {$kilobytes * 1024}]
}

# Time of this process on a core, in steps of 10 ms.
proc cpu_s {} {
    set file [open /proc/self/stat]
    set fields [read $file]
    close $file
    return [expr {([lindex $fields 13] + [lindex $fields 14]) / 100.0}]
}

proc start_clocks {} {
    global loop_start cpu_start
    set loop_start [clock microseconds]
    set cpu_start [cpu_s]
}

proc stop_clocks {} {
    global loop_end cpu_end
    set loop_end [clock microseconds]
    set cpu_end [cpu_s]
}

proc report_clocks {} {
    global loop_start loop_end cpu_start cpu_end
    puts "wall_s [expr {($loop_end - $loop_start) / 1e6}]"
    puts "cpu_s [expr {$cpu_end - $cpu_start}]"
}

proc new_simulator {} {
    global ns opt defaultRNG
    set ns [new Simulator]
    $ns use-scheduler Calendar
    $defaultRNG seed $opt(seed)
    configure_agents
}

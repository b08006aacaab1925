# SPDX-License-Identifier: GPL-2.0-or-later
# A chain of nodes with 802.11 DSSS at 2 Mb/s in ns-2.35 (Debian package ns2), which the scripts of this folder source.

# Makes ns_ and node(0) to node(hops). Events go to the channel trace; agent_trace (ON or OFF): those of agents, too.
proc make_chain {hops spacing_m routing agent_trace trace} {
  global ns_ node
  set ns_ [new Simulator]
  $ns_ trace-all $trace
  Mac/802_11 set dataRate_ 2.0e6
  Mac/802_11 set basicRate_ 1.0e6
  Mac/802_11 set RTSThreshold_ 0
  Phy/WirelessPhy set CSThresh_ 1.559e-11
  Phy/WirelessPhy set RXThresh_ 3.652e-10
  set nodes [expr {$hops + 1}]
  set topo [new Topography]
  $topo load_flatgrid [expr {250 * ($nodes + 1)}] 500
  create-god $nodes
  # DSR is what the papers ran; its queue type is its own.
  set queue [expr {$routing eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
  $ns_ node-config -adhocRouting $routing -llType LL -macType Mac/802_11 -ifqType $queue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace $agent_trace -routerTrace OFF -macTrace OFF -movementTrace OFF
  for {set i 0} {$i < $nodes} {incr i} {
    set node($i) [$ns_ node]
    $node($i) random-motion 0
    $node($i) set X_ [expr {1 + $spacing_m * $i}]
    $node($i) set Y_ 100
    $node($i) set Z_ 0
  }
}

# Packets of source go from the first node to the last.
proc connect {source sink} {
  global ns_ node hops
  $ns_ attach-agent $node(0) $source
  $ns_ attach-agent $node($hops) $sink
  $ns_ connect $source $sink
}

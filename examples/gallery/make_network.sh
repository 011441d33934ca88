# Three PCs on one switch, as network namespaces of this machine: 10.78.0.1, 10.78.0.2 and 10.78.0.3.
set -e
ip netns add steelyard-switch
ip -n steelyard-switch link add switch up type bridge
for i in 1 2 3; do
  ip netns add steelyard-pc-$i
  ip -n steelyard-switch link add pc-$i type veth peer name line netns steelyard-pc-$i
  ip -n steelyard-switch link set pc-$i up master switch
  ip -n steelyard-pc-$i address add 10.78.0.$i/24 dev line
  ip -n steelyard-pc-$i link set line up
  ip -n steelyard-pc-$i link set lo up
done

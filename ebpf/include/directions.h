/* The programs for both directions, with an Ethernet header and without one; the file that includes
 * this defines leave() and arrive(). */
SEC("tc")
int egress_ether(struct __sk_buff *skb)
{
	return leave(skb, 14);
}

SEC("tc")
int egress_raw(struct __sk_buff *skb)
{
	return leave(skb, 0);
}

SEC("tc")
int ingress_ether(struct __sk_buff *skb)
{
	return arrive(skb, 14);
}

SEC("tc")
int ingress_raw(struct __sk_buff *skb)
{
	return arrive(skb, 0);
}

# layers: more nodes on each other than an overlay can have layers.
load users

MANY=70

# Makes each node on top of the last one.  There are more nodes than layers in one mount.
many_nodes() {
	local i
	be "$1"
	for ((i = 1; i <= MANY; i++)); do
		do_in "echo $i >/srv/last; echo $i >/srv/many/n$i; rm /srv/many/$i"
		case $i in 1 | 20 | 33 | "$MANY") eval "node_$i=\$(strata head)"; seen >"seen.$i" ;; esac
	done
	right
	# shellcheck disable=SC2154 # set above
	for i in 20 1 33 $MANY 1; do
		eval "at \$node_$i $i"
		is "$(in_env cat /srv/last)" "$i"
		do_in "echo branch >/srv/branch-$i"
		right
	done
	strata fsck >/dev/null
}
@test "many nodes: root" { many_nodes root; }
@test "many nodes: a user with subordinate ids" { many_nodes sub; }

# Strata finds out which options the kernel does not support.  This must cause no error in the
# kernel's log.
@test "the kernel's log has no complaint about options" {
	be root
	in_env sh -c :
	run ! grep 'unrecognized mount option' <(dmesg)
}

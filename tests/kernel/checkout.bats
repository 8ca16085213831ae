# checkout: init, exec, checkout, undo and redo under the kernel of a virtual machine.
load users

near_and_far() {
	be "$1"
	right
	seen >seen.first
	do_in 'rm -r /usr/lib/sub; echo new >/srv/new; chmod 4711 /srv/many/9; mv /etc/group /etc/groups; ln /srv/many/1 /srv/one'
	near=$(strata head)
	right
	cp seen.now seen.near
	at "$first" first
	do_in "$FAR"
	far=$(strata head)
	right
	cp seen.now seen.far
	do_in 'echo beside >/far/beside; rm -r /far/7; echo 1 >>/far/8/8'
	beside=$(strata head)
	right
	cp seen.now seen.beside
	at "$far" far
	at "$beside" beside
	at "$near" near
	at "$far" far
	at "$first" first
	strata undo >/dev/null
	right
	same seen.far seen.now
	strata redo >/dev/null
	right
	same seen.first seen.now
	strata fsck >/dev/null
}
@test "checkout near and far: root" { near_and_far root; }
@test "checkout near and far: a user with subordinate ids" { near_and_far sub; }
@test "checkout near and far: a user without" { near_and_far plain; }

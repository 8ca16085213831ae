# mcp-sdk: the official MCP client for TypeScript (tests/npm/mcp) uses 'strata mcp'.
load helpers
load history
load rootfs
load npm

setup_file() { npm_packages mcp; }

@test "the official client for TypeScript uses everything that the server has" {
	need_packages
	mini_rootfs src
	mkdir -p src/dir snaps/2026-01-01 snaps/2026-01-02
	echo one >src/file
	printf 'a\nb\n' >src/dir/list
	printf '\xff\xfe' >src/binary
	echo old >snaps/2026-01-01/file
	echo new >snaps/2026-01-02/file
	strata init --from src >/dev/null
	timeout -k 5 100 node "$BATS_FILE_TMPDIR/client.mjs" "$STRATA" mcp --allow-write --folder days=snaps >parts 2>&1 ||
		{ cat parts; return 1; }
	is "$(tail -n 1 parts)" manyCalls
}

# npm - tests that use packages from npm.  Use: load helpers, load npm.
# shellcheck shell=bash

# npm_packages [DIRECTORY]: for setup_file.  Install the packages of tests/npm, or of a directory in it,
# and copy the scripts of the same directory, which then find the packages.
npm_packages() {
	local from=$BATS_TEST_DIRNAME/../npm/${1:-}
	cd "$BATS_FILE_TMPDIR" || return 1
	"$BATS_TEST_DIRNAME/../../tools/npm-packages" "${1:-}" >packages 2>why || true
	[ ! -s packages ] || ln -s "$(cat packages)" node_modules
	find "$from" -maxdepth 1 -name '*.mjs' -exec cp {} . \;
}

# Skip the test if its packages are missing.
need_packages() {
	[ ! -s "$BATS_FILE_TMPDIR/packages" ] || return 0
	case $(cat "$BATS_FILE_TMPDIR/why") in
	*"no network"*) unavailable "no network" ;;
	*) unavailable "$(tail -n 1 "$BATS_FILE_TMPDIR/why")" ;;
	esac
}

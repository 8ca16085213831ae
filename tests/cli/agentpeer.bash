# agentpeer - scripts of Python that are peers of a query agent (tests/tools/agentpeer.py).
# shellcheck shell=bash

# peer <<END: run a Python script that sends requests to the agent $PROGRAM.
peer() {
	local -a command
	read -ra command <<<"$PROGRAM"
	{
		echo 'from agentpeer import *'
		cat
	} >peer.py
	PYTHONPATH=$BATS_TEST_DIRNAME/../tools python3 -u peer.py "${command[@]}"
}

# each_agent TEST: run the test with each program that answers queries.
each_agent() {
	local -a programs=("$STRATA_AGENT query" "$STRATA agent")
	for PROGRAM in "${programs[@]}"; do
		echo "with $PROGRAM"
		"$@"
	done
}

# endless DIR DIR: make a file in both directories, such that it takes hours to compare them.
endless() {
	mkdir -p "$1" "$2"
	truncate -s 1T "$1/endless" "$2/endless"
	touch -d 2020-01-01 "$1/endless"
}

# property: random work and random movements are compared with a model (tests/tools/property.c).
# PROPERTY_SEED repeats a run, and PROPERTY_STEPS makes it longer.

load helpers

setup() {
	strata_setup
	unset STRATA_ROOT
	steps=${PROPERTY_STEPS:-2000}
	[ -z "${SANITIZED:-}" ] || steps=${PROPERTY_STEPS:-600}
}

property() { # SEED
	PROPERTY_SEED=$1 PROPERTY_STEPS=$steps "$TOOLS/property" "$BATS_TEST_TMPDIR/property" >said 2>&1 || {
		cat said
		return 1
	}
	sed 's/^/# /' said >&3
}

@test "a fixed sequence of operations agrees with the model" {
	property 20240229
}

@test "a random sequence of operations agrees with the model" {
	property "${PROPERTY_SEED:-$SRANDOM}"
}

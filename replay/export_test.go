package replay

// Finished is finished, for the tests of package replay_test.
var Finished = finished

// New is newPlan, for the same tests.
var New = newPlan

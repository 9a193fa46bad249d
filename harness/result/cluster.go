package result

// MaxClusterTags limits the tags of one question that have a colon, so that each of them may name a
// cluster.
const MaxClusterTags = 100

package atomicfile

// ReplaceByCopy is what Link does where the file system has no hard links.
var ReplaceByCopy = replaceByCopy

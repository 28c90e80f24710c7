package inference

const MaxBins = maxBins

var ReadServeGenFrom = readServeGenFrom

package inference

const MaxBins = maxBins

var (
	ReadAzureFrom    = readAzureFrom
	ReadServeGenFrom = readServeGenFrom
)

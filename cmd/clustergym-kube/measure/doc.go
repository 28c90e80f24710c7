// Package measure collects the throughputs that running gangs report, and gives them to the State as readings: from an annotation
// of the pods, and from a server with the query API of Prometheus. What users report is checked; what is not valid is left out.
package measure

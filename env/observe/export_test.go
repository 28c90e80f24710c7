package observe

var Order = order

// Package loopback tells which hosts are this machine. Others need TLS and a token.
package loopback

import "net"

// Is reports whether a host, without a port and without brackets, is this machine: the name localhost or a loopback address. No
// other name is looked up.
func Is(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

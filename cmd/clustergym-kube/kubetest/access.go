package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/csv"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// administrator is the user with all rights, which it has through its group.
const administrator = "kubetest"

// access contains the certificate and key of an API server and the tokens of its users. The paths are those of files that the
// server reads.
type access struct {
	cert, key, tokens string
	certPEM           []byte
	tokenOf           map[string]string // by user
}

// grantAccess creates keys and users on the first call, and on every call the administrator's client for an API server at the
// port.
func (c *Cluster) grantAccess(port int) error {
	if c.access == nil {
		var err error
		if c.access, err = newAccess(c.Dir, c.options.Tokens); err != nil {
			return fmt.Errorf("make keys for the API server: %w", err)
		}
	}
	c.Config = &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     c.access.tokenOf[administrator],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.access.certPEM},
		QPS:             -1,
	}
	var err error
	if c.Client, err = kubernetes.NewForConfig(protobuf(c.Config)); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for user := range c.access.tokenOf {
		if err := c.writeKubeconfig(user); err != nil {
			return err
		}
	}
	c.Kubeconfig = c.kubeconfigOf(administrator)
	return nil
}

// ConfigOf returns a configuration for a user of Options.Tokens.
func (c *Cluster) ConfigOf(user string) *rest.Config {
	c.tb.Helper()
	config := rest.CopyConfig(c.Config)
	config.BearerToken = c.token(user)
	return config
}

// KubeconfigOf returns the path of a kubeconfig for a user of Options.Tokens.
func (c *Cluster) KubeconfigOf(user string) string {
	c.tb.Helper()
	c.token(user)
	return c.kubeconfigOf(user)
}

func (c *Cluster) token(user string) string {
	c.tb.Helper()
	token, ok := c.access.tokenOf[user]
	if !ok {
		c.tb.Fatalf("kubetest: user %q: want one of Options.Tokens, %q", user, slices.Sorted(maps.Keys(c.options.Tokens)))
	}
	return token
}

func (c *Cluster) kubeconfigOf(user string) string {
	return filepath.Join(c.Dir, strings.NewReplacer("/", "_", ":", "_").Replace(user)+".kubeconfig")
}

func (c *Cluster) writeKubeconfig(user string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["kubetest"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.access.certPEM}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: c.access.tokenOf[user]}
	config.Contexts["kubetest"] = &clientcmdapi.Context{Cluster: "kubetest", AuthInfo: user}
	config.CurrentContext = "kubetest"
	return clientcmd.WriteToFile(*config, c.kubeconfigOf(user))
}

// newAccess creates one key, which serves TLS and signs the tokens of service accounts, a self-signed certificate for it, and a
// token for every user.
func newAccess(dir string, users map[string][]string) (*access, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(7 * 24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:         true, BasicConstraintsValid: true,
	}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	a := &access{
		cert:    filepath.Join(dir, "apiserver.crt"),
		key:     filepath.Join(dir, "apiserver.key"),
		tokens:  filepath.Join(dir, "tokens.csv"),
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}),
		tokenOf: map[string]string{},
	}
	var table strings.Builder
	lines := csv.NewWriter(&table)
	groups := map[string][]string{administrator: {"system:masters"}}
	maps.Copy(groups, users)
	for _, user := range slices.Sorted(maps.Keys(groups)) {
		a.tokenOf[user] = rand.Text()
		if err := lines.Write([]string{a.tokenOf[user], user, user, strings.Join(groups[user], ",")}); err != nil {
			return nil, err
		}
	}
	lines.Flush()
	for path, data := range map[string][]byte{
		a.cert:   a.certPEM,
		a.key:    pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		a.tokens: []byte(table.String()),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, err
		}
	}
	return a, nil
}

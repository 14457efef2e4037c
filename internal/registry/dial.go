package registry

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// Dial makes a client of an etcd cluster, which the caller closes. It does not wait for the cluster, except where a
// user name is configured: then etcd must answer within ten seconds, since it has to give a token first.
func Dial(cfg *configv1.EtcdClient) (*clientv3.Client, error) {
	c := clientv3.Config{
		Endpoints:            cfg.GetEndpoints(),
		DialTimeout:          10 * time.Second,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		Username:             cfg.GetUsername(),
		Logger:               zap.NewNop(), // what is wrong with etcd reaches our own log as an error of a call
	}
	if file := cfg.GetPasswordFile(); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("etcd: read password_file: %w", err)
		}
		c.Password = strings.TrimRight(string(b), "\r\n")
	}
	if (c.Username == "") != (c.Password == "") {
		return nil, fmt.Errorf("etcd: username and password_file go together: one of them is missing or empty")
	}
	if cfg.GetTls() != nil {
		var err error
		if c.TLS, err = ClientTLS(cfg.GetTls()); err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
	}
	client, err := clientv3.New(c)
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(c.Endpoints, ", "), err)
	}
	return client, nil
}

// ClientTLS reads the files that a client's TLS configuration names. Empty fields leave Go's defaults.
func ClientTLS(cfg *configv1.ClientTls) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.GetServerName()}
	if file := cfg.GetCaFile(); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("tls: read ca_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls: ca_file %s holds no certificate", file)
		}
	}
	if cfg.GetCertFile() != "" || cfg.GetKeyFile() != "" {
		pair, err := tls.LoadX509KeyPair(cfg.GetCertFile(), cfg.GetKeyFile())
		if err != nil {
			return nil, fmt.Errorf("tls: read cert_file and key_file: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

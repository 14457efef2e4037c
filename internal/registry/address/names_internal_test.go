package address

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// Where etcd is known by a name, what the name resolves to is etcd; where nobody can say what that is, anything is.
func TestEtcd_byName(t *testing.T) {
	const zone, etcd = "app.acme.orders", "https://etcd.internal.example:2379"
	entries := []*configv1.ZoneAddresses{{Zone: zone, Ranges: []string{"10.0.0.0/8"}}}
	for _, row := range []struct {
		name     string
		found    []string
		err      error
		address  string
		admitted bool
	}{
		{"its address", []string{"10.0.0.6", "10.0.0.7"}, nil, "10.0.0.7:2379", false},
		{"its address, mapped", []string{"::ffff:10.0.0.7"}, nil, "10.0.0.7:2379", false},
		{"another address", []string{"10.0.0.7"}, nil, "10.0.0.8:2379", true},
		{"another port", []string{"10.0.0.7"}, nil, "10.0.0.7:2378", true},
		{"a name that does not exist", nil, &net.DNSError{IsNotFound: true}, "10.0.0.7:2379", true},
		{"a resolver that does not answer", nil, &net.DNSError{IsTimeout: true}, "10.0.0.7:2379", false},
		{"another failure", nil, errors.New("broken"), "10.0.0.7:2379", false},
		{"another failure, another port", nil, errors.New("broken"), "10.0.0.7:2378", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := New(entries, etcd)
			if err != nil {
				t.Fatal(err)
			}
			p.lookup = func(_ context.Context, _, host string) (found []netip.Addr, err error) {
				if host != "etcd.internal.example" {
					t.Errorf("looked up %q", host)
				}
				for _, f := range row.found {
					found = append(found, netip.MustParseAddr(f))
				}
				return found, row.err
			}
			if err := p.CheckRegister(zone, row.address); (err == nil) != row.admitted {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// An etcd on loopback is met at this machine's other addresses, too.
func TestEtcd_onThisMachine(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, etcd := range []string{"http://127.0.0.1:2379", "http://[::]:2379", "http://localhost:2379"} {
		p, err := New(nil, etcd)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			own, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
			if own = own.Unmap(); !p.isEtcd(own, 2379) || p.isEtcd(own, 2378) {
				t.Errorf("%s is not met at %v alone", etcd, own)
			}
		}
		if p.isEtcd(netip.MustParseAddr("192.0.2.1"), 2379) {
			t.Errorf("%s is met at another machine", etcd)
		}
	}
}

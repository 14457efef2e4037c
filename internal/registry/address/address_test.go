package address_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
)

const app = "app.acme.orders"

func za(zone string, ranges, names []string, ports ...uint32) *configv1.ZoneAddresses {
	return &configv1.ZoneAddresses{Zone: zone, Ranges: ranges, Names: names, Ports: ports}
}

func list(s ...string) []string { return s }

func mustNew(t *testing.T, zones []*configv1.ZoneAddresses, etcd ...string) *address.Policy {
	t.Helper()
	p, err := address.New(zones, etcd...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCheckRegister has a row for each rule of the package comment. An empty want means that the address is admitted.
func TestCheckRegister(t *testing.T) {
	t.Parallel()
	everything := za("*", list("0.0.0.0/0", "::/0"), nil)
	system := za("system-api", list("127.0.0.0/8", "::1/128", "169.254.0.0/16", "10.0.0.0/8"), nil)
	tests := []struct {
		name    string
		entries []*configv1.ZoneAddresses
		zone    string
		address string
		want    string
	}{
		{"no entry: public IPv4", nil, app, "8.8.8.8:443", ""},
		{"no entry: public IPv6", nil, app, "[2606:4700::1111]:443", ""},
		{"no entry: any name", nil, app, "orders.example.com:443", ""},
		{"no entry: mapped public IPv4", nil, app, "[::ffff:8.8.8.8]:443", ""},
		{"no entry: private", nil, app, "10.1.2.3:443", "a private address"},
		{"no entry: loopback", nil, app, "127.0.0.1:443", "a loopback address"},
		{"no entry: loopback for the platform", nil, "system-api", "127.0.0.1:443", "a loopback address"},
		{"no entry: un-zoned", nil, "", "127.0.0.1:1", "un-zoned services"},

		{"range", []*configv1.ZoneAddresses{za(app, list("10.20.0.0/16"), nil)}, app, "10.20.3.4:80", ""},
		{"outside the range", []*configv1.ZoneAddresses{za(app, list("10.20.0.0/16"), nil)}, app, "10.21.3.4:80", "needs a range"},
		{"an entry takes the public ones away", []*configv1.ZoneAddresses{za(app, list("10.20.0.0/16"), nil)}, app, "8.8.8.8:80", "in no range"},
		{"sub-zone", []*configv1.ZoneAddresses{za(app, list("10.20.0.0/16"), nil)}, app + ".billing", "10.20.3.4:80", ""},
		{"look-alike of a sub-zone", []*configv1.ZoneAddresses{za(app, list("10.20.0.0/16"), nil)}, app + "-2", "10.20.3.4:80", "a private address"},
		{"un-zoned entry is for the un-zoned alone", []*configv1.ZoneAddresses{za("", list("10.0.0.0/8"), nil)}, app, "10.20.3.4:80", "a private address"},
		{"un-zoned entry", []*configv1.ZoneAddresses{za("", list("10.0.0.0/8"), nil)}, "", "10.20.3.4:80", ""},
		{"star is for the un-zoned too", []*configv1.ZoneAddresses{za("*", list("10.0.0.0/8"), nil)}, "", "10.20.3.4:80", ""},
		{"entries add up", []*configv1.ZoneAddresses{za("*", list("10.0.0.0/8"), nil), za(app, list("192.168.0.0/16"), nil)}, app, "10.1.1.1:80", ""},

		{"port", []*configv1.ZoneAddresses{za(app, nil, nil, 443)}, app, "8.8.8.8:443", ""},
		{"other port", []*configv1.ZoneAddresses{za(app, nil, nil, 443)}, app, "8.8.8.8:80", "port 80"},
		{"other port of a name", []*configv1.ZoneAddresses{za(app, nil, nil, 443)}, app, "a.example.com:80", "port 80"},
		{"port and range come from one entry", []*configv1.ZoneAddresses{za(app, list("10.0.0.0/8"), nil, 1), za(app, list("192.168.0.0/16"), nil, 2)}, app, "10.0.0.1:2", "a private address"},

		{"name", []*configv1.ZoneAddresses{za(app, nil, list("a.example.com"))}, app, "A.Example.COM.:443", ""},
		{"other name", []*configv1.ZoneAddresses{za(app, nil, list("a.example.com"))}, app, "b.example.com:443", `"b.example.com"`},
		{"wildcard", []*configv1.ZoneAddresses{za(app, nil, list("*.example.com"))}, app, "x.y.example.com:443", ""},
		{"wildcard without a label before", []*configv1.ZoneAddresses{za(app, nil, list("*.example.com"))}, app, "example.com:443", `"example.com"`},
		{"wildcard needs the dot", []*configv1.ZoneAddresses{za(app, nil, list("*.example.com"))}, app, "evilexample.com:443", "evilexample"},
		{"names alone admit no bare address", []*configv1.ZoneAddresses{za(app, nil, list("a.example.com"))}, app, "8.8.8.8:443", "names only"},
		{"names beside ranges", []*configv1.ZoneAddresses{za(app, list("10.0.0.0/8"), list("a.example.com"))}, app, "10.0.0.1:443", ""},

		{"wide range: private", []*configv1.ZoneAddresses{everything}, app, "10.1.2.3:80", ""},
		{"wide range: carrier-grade NAT", []*configv1.ZoneAddresses{everything}, app, "100.64.0.1:80", ""},
		{"wide range: unique local", []*configv1.ZoneAddresses{everything}, app, "[fd12::1]:80", ""},
		{"wide range: loopback", []*configv1.ZoneAddresses{everything}, app, "127.0.0.1:80", "a loopback address"},
		{"wide range: IPv6 loopback", []*configv1.ZoneAddresses{everything}, app, "[::1]:80", "a loopback address"},
		{"wide range for the platform: loopback", []*configv1.ZoneAddresses{za("system-api", list("0.0.0.0/0"), nil)}, "system-api", "127.0.0.1:80", "a loopback address"},
		{"wide range: link-local", []*configv1.ZoneAddresses{everything}, app, "169.254.1.1:80", "a link-local address"},
		{"wide range: metadata", []*configv1.ZoneAddresses{everything}, app, "169.254.169.254:80", "metadata"},
		{"wide range: metadata within carrier-grade NAT", []*configv1.ZoneAddresses{everything}, app, "100.100.100.200:80", "metadata"},
		{"wide range: metadata within unique local", []*configv1.ZoneAddresses{everything}, app, "[fd00:ec2::254]:80", "metadata"},
		{"wide range: metadata that is public", []*configv1.ZoneAddresses{everything}, app, "168.63.129.16:80", "metadata"},
		{"wide range: mapped loopback", []*configv1.ZoneAddresses{everything}, app, "[::ffff:127.0.0.1]:80", "a loopback address"},
		{"wide range: mapped metadata", []*configv1.ZoneAddresses{everything}, app, "[::ffff:a9fe:a9fe]:80", "metadata"},
		{"wide range: NAT64 of a public address", []*configv1.ZoneAddresses{everything}, app, "[64:ff9b::808:808]:80", "NAT64"},

		{"platform entry: loopback", []*configv1.ZoneAddresses{system}, "system-api", "127.0.0.1:80", ""},
		{"platform entry: IPv6 loopback", []*configv1.ZoneAddresses{system}, "system-api", "[::1]:80", ""},
		{"platform entry: mapped loopback", []*configv1.ZoneAddresses{system}, "system-api", "[::ffff:127.0.0.1]:80", ""},
		{"platform entry: localhost", []*configv1.ZoneAddresses{system}, "system-api", "localhost:80", ""},
		{"platform entry: link-local", []*configv1.ZoneAddresses{system}, "system-api", "169.254.1.1:80", ""},
		{"platform entry: metadata is not link-local in general", []*configv1.ZoneAddresses{system}, "system-api", "169.254.169.254:80", "metadata"},
		{"platform entry: metadata by its own range", []*configv1.ZoneAddresses{za("system-api", list("169.254.169.254/32"), nil)}, "system-api", "169.254.169.254:80", ""},
		{"platform entry opens nothing for others", []*configv1.ZoneAddresses{system}, app, "127.0.0.1:80", "a loopback address"},
		{"un-zoned is the platform's", []*configv1.ZoneAddresses{za("", list("127.0.0.0/8"), nil)}, "", "127.0.0.1:80", ""},

		{"loopback by port", []*configv1.ZoneAddresses{za(app, list("127.0.0.0/8"), nil, 9001)}, app, "127.0.0.1:9001", ""},
		{"loopback by port: other port", []*configv1.ZoneAddresses{za(app, list("127.0.0.0/8"), nil, 9001)}, app, "127.0.0.1:9002", "port 9002"},
		{"loopback by port in the star entry", []*configv1.ZoneAddresses{za("*", list("127.0.0.1/32"), nil, 9001)}, app, "localhost:9001", ""},
		{"loopback by port is no wide range", []*configv1.ZoneAddresses{za("*", list("0.0.0.0/0"), nil, 9001)}, app, "127.0.0.1:9001", "a loopback address"},

		{"NAT64 by its own range", []*configv1.ZoneAddresses{za(app, list("64:ff9b::/96"), nil)}, app, "[64:ff9b::808:808]:80", ""},
		{"NAT64 of loopback", []*configv1.ZoneAddresses{za("system-api", list("64:ff9b::/96"), nil)}, "system-api", "[64:ff9b::7f00:1]:80", "stands for a loopback"},
		{"NAT64 of metadata", []*configv1.ZoneAddresses{za(app, list("64:ff9b::/96"), nil)}, app, "[64:ff9b::a9fe:a9fe]:80", "stands for a cloud's metadata"},
		{"6to4 of loopback", []*configv1.ZoneAddresses{za(app, list("2002::/16"), nil)}, app, "[2002:7f00:1::1]:80", "stands for a loopback"},
		{"Teredo of loopback", []*configv1.ZoneAddresses{za(app, list("2001::/32"), nil)}, app, "[2001:0:1::80ff:fffe]:80", "stands for a loopback"},

		{"local NAT64 is in no wide range", []*configv1.ZoneAddresses{everything}, app, "[64:ff9b:1::808:808]:80", "local NAT64"},
		{"local NAT64 by its own range", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1::808:808]:80", ""},
		{"local NAT64 of metadata", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1::a9fe:a9fe]:80", "stands for a cloud's metadata"},
		{"local NAT64 of metadata, 48 bits", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1:a9fe:a9:fe00::]:80", "stands for a cloud's metadata"},
		{"local NAT64 of metadata, 56 bits", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1:22a9:fe:a9fe::]:80", "stands for a cloud's metadata"},
		{"local NAT64 of loopback, 64 bits", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1:22:7f:0:100::]:80", "stands for a loopback"},
		{"local NAT64 of a public address, 48 bits", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1:808:8:800::]:80", ""},
		{"local NAT64 of a public address, 64 bits", []*configv1.ZoneAddresses{za(app, list("64:ff9b:1::/48"), nil)}, app, "[64:ff9b:1:0:8:808:800::]:80", ""},
		{"ISATAP of a public address", nil, app, "[2600::5efe:808:808]:80", ""},
		{"ISATAP of metadata", nil, app, "[2600::5efe:a9fe:a9fe]:80", "stands for a cloud's metadata"},
		{"ISATAP of loopback, marked as global", []*configv1.ZoneAddresses{everything}, app, "[fd12::200:5efe:7f00:1]:80", "stands for a loopback"},

		{"never: unspecified", []*configv1.ZoneAddresses{everything, system}, "system-api", "0.0.0.0:80", "nothing admits"},
		{"never: unspecified IPv6", []*configv1.ZoneAddresses{everything}, app, "[::]:80", "nothing admits"},
		{"never: multicast", []*configv1.ZoneAddresses{everything}, app, "224.0.0.1:80", "multicast"},
		{"never: multicast IPv6", []*configv1.ZoneAddresses{everything}, app, "[ff02::1]:80", "multicast"},
		{"never: broadcast", []*configv1.ZoneAddresses{everything}, app, "255.255.255.255:80", "broadcast"},
		{"never: IPv4-compatible", []*configv1.ZoneAddresses{everything}, app, "[::7f00:1]:80", "IPv4-compatible"},
		{"never: unassigned", []*configv1.ZoneAddresses{everything}, app, "[4000::1]:80", "unassigned"},
		{"never: scope", []*configv1.ZoneAddresses{everything}, app, "[fe80::1%eth0]:80", "scope"},

		{"name of a metadata service", []*configv1.ZoneAddresses{everything}, app, "metadata.google.internal:80", "metadata"},
		{"sub-domain of localhost", []*configv1.ZoneAddresses{everything}, app, "x.localhost:80", "a loopback address"},

		{"localhost with a domain", nil, app, "localhost.localdomain:80", "a loopback address"},
		{"localhost of IPv6", nil, app, "ip6-localhost:80", "a loopback address"},
		{"loopback of IPv6", nil, app, "IP6-Loopback.:80", "a loopback address"},
		{"localhost of IPv6 with a domain", nil, app, "localhost6.localdomain6:80", "a loopback address"},
		{"a name that begins like it", nil, app, "localhost.example.com:80", ""},

		{"no port", nil, app, "a.example.com", "want host:port"},
		{"port zero", nil, app, "a.example.com:0", "between 1 and 65535"},
		{"port beyond", nil, app, "a.example.com:65536", "between 1 and 65535"},
		{"port with a sign", nil, app, "a.example.com:+80", "between 1 and 65535"},
		{"port by name", nil, app, "a.example.com:http", "between 1 and 65535"},
		{"empty host", nil, app, ":80", "empty"},
		{"IPv6 without brackets", nil, app, "2001:db8::1:80", "brackets"},
		{"open bracket", nil, app, "[::1:80", "bracket"},
		{"IPv4 in brackets", nil, app, "[8.8.8.8]:80", "brackets"},
		{"decimal address", nil, app, "2130706433:80", "ends in a number"},
		{"short address", nil, app, "127.1:80", "ends in a number"},
		{"hexadecimal address", nil, app, "0x7f000001:80", "ends in a number"},
		{"octal address", nil, app, "0177.0.0.1:80", "ends in a number"},
		{"URL", nil, app, "http://a.example.com:80", "character"},
		{"user info", nil, app, "a@b.example.com:80", "character"},
		{"space", nil, app, "a b:80", "character"},
		{"not ASCII", nil, app, "ⓛocalhost:80", "character"},
		{"empty label", nil, app, "a..example.com:80", "label"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := mustNew(t, test.entries).CheckRegister(test.zone, test.address)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && err == nil:
				t.Error("admitted")
			case test.want != "" && !strings.Contains(err.Error(), test.want):
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}

// A name is judged again when it is dialled: by its spelling as before, and by where it led.
func TestCheckDial(t *testing.T) {
	t.Parallel()
	entries := []*configv1.ZoneAddresses{za(app, list("10.0.0.0/8"), list("*.example.com"), 443), za("system-api", list("127.0.0.0/8"), nil)}
	tests := []struct {
		name, zone, ip, host string
		port                 uint16
		want                 string
	}{
		{"name into the range", app, "10.1.1.1", "a.example.com", 443, ""},
		{"name out of the range", app, "192.168.1.1", "a.example.com", 443, "a.example.com (192.168.1.1:443)"},
		{"name into loopback", app, "127.0.0.1", "a.example.com", 443, "a loopback address"},
		{"name into mapped loopback", app, "::ffff:127.0.0.1", "a.example.com", 443, "a loopback address"},
		{"name into metadata", app, "169.254.169.254", "a.example.com", 443, "metadata"},
		{"name that the entry does not have", app, "10.1.1.1", "a.example.org", 443, "a.example.org"},
		{"port that the entry does not have", app, "10.1.1.1", "a.example.com", 80, "port 80"},
		{"address in the range", app, "10.1.1.1", "10.1.1.1", 443, ""},
		{"zone without an entry: name into private", "app.other.one", "10.1.1.1", "a.example.com", 443, "a private address"},
		{"zone without an entry: name into public", "app.other.one", "8.8.4.4", "a.example.com", 443, ""},
		{"platform: name into loopback", "system-api", "127.0.0.1", "localhost", 80, ""},
		{"scope", "system-api", "fe80::1%lo", "localhost", 80, "scope"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := mustNew(t, entries).CheckDial(test.zone, netip.MustParseAddr(test.ip), test.host, test.port)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q", err, test.want)
			}
			var refused *address.RefusedError
			if err != nil && (!errors.As(err, &refused) || refused.Zone != test.zone) {
				t.Errorf("error %#v does not carry the zone", err)
			}
		})
	}
	if err := mustNew(t, nil).CheckDial(app, netip.Addr{}, "a.example.com", 443); err == nil {
		t.Error("no address at all is admitted")
	}
}

func TestEtcdIsNeverAdmitted(t *testing.T) {
	t.Parallel()
	p := mustNew(t, []*configv1.ZoneAddresses{
		za("*", list("127.0.0.0/8", "::1/128"), nil, 2379, 9001), za("system-api", list("127.0.0.0/8", "::1/128", "10.0.0.0/8"), nil),
		za("", nil, nil), za(app+".nat", list("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"), nil),
	}, "http://127.0.0.1:2379", "https://etcd.internal.example", "10.0.0.7:2380", "http://localhost:2381", "unix:///run/etcd.sock", "http://[::]:2382")
	for _, test := range []struct {
		name, zone, address string
		admitted            bool
	}{
		{"as it is", "system-api", "127.0.0.1:2379", false},
		{"by another loopback address", "system-api", "127.0.0.2:2379", false},
		{"by IPv6", "system-api", "[::1]:2379", false},
		{"mapped", "system-api", "[::ffff:127.0.0.1]:2379", false},
		{"by localhost", "system-api", "localhost:2379", false},
		{"from an application", app, "127.0.0.1:2379", false},
		{"by name, default port", "", "etcd.internal.example:443", false},
		{"by name in capitals", "", "ETCD.internal.example.:443", false},
		{"listed as host:port", "system-api", "10.0.0.7:2380", false},
		{"listed as localhost", "system-api", "127.0.0.1:2381", false},
		{"listed as every address", "system-api", "127.0.0.1:2382", false},
		{"behind NAT64", app + ".nat", "[64:ff9b::a00:7]:2380", false},
		{"behind a local NAT64", app + ".nat", "[64:ff9b:1::a00:7]:2380", false},
		{"behind 6to4", app + ".nat", "[2002:a00:7::1]:2380", false},
		{"another one behind NAT64", app + ".nat", "[64:ff9b::a00:8]:2380", true},
		{"another port", "system-api", "127.0.0.1:9001", true},
		{"another address", "system-api", "10.0.0.8:2380", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := p.CheckRegister(test.zone, test.address)
			if test.admitted != (err == nil) {
				t.Errorf("err = %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "etcd") {
				t.Errorf("error %q does not say why", err)
			}
		})
	}
}

func TestNew_refusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		entry *configv1.ZoneAddresses
		want  string
	}{
		{"zone", za("App.acme", nil, nil), "App.acme"},
		{"range", za("*", list("10.0.0.1"), nil), "10.0.0.1"},
		{"mapped range", za("*", list("::ffff:10.0.0.0/104"), nil), "IPv4 range"},
		{"name", za("*", nil, list("*example.com")), "*example.com"},
		{"wildcard inside", za("*", nil, list("a.*.example.com")), "a.*.example.com"},
		{"port", za("*", nil, nil, 70000), "70000"},
		{"loopback of an application without ports", za(app, list("127.0.0.0/8"), nil), "name the ports"},
		{"loopback of every zone without ports", za("*", list("::1/128"), nil), "name the ports"},
		{"link-local of an application", za(app, list("169.254.0.0/16"), nil, 80), "platform zone only"},
		{"metadata of every zone", za("*", list("169.254.169.254/32"), nil, 80), "platform zone only"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := address.New([]*configv1.ZoneAddresses{za("system-api", nil, nil), test.entry})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "addresses[1]") {
				t.Errorf("err = %v, want the entry's place and %q", err, test.want)
			}
		})
	}
	if _, err := address.New(nil, "http://127.0.0.1:0x"); err == nil {
		t.Error("an ill-formed etcd endpoint is taken")
	}
}

// Whatever is thrown at it, nothing that dials loopback, metadata or nothing at all passes the default policy.
func FuzzCheckRegister(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:80", "[::ffff:127.0.0.1]:80", "[::ffff:1.0.0.0]:1", "0x7f.1:80", "localhost.:80", "[::1%0]:1", "a.example.com:443", "8.8.8.8:53", "②.example:1"} {
		f.Add(seed)
	}
	p, err := address.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if p.CheckRegister(app, raw) != nil {
			return
		}
		host, port, err := address.Split(raw)
		if err != nil || port == 0 || host == "" {
			t.Fatalf("%q is admitted but does not split: %v", raw, err)
		}
		// A mapped address is judged as the IPv4 address that a connection to it reaches.
		if ip, err := netip.ParseAddr(host); err == nil && (!ip.Unmap().IsGlobalUnicast() || ip.Unmap().IsPrivate()) {
			t.Fatalf("%q is admitted as %v", raw, ip)
		}
		if strings.HasSuffix(host, "localhost") && (len(host) == 9 || host[len(host)-10] == '.') {
			t.Fatalf("%q is admitted", raw)
		}
	})
}

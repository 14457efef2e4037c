package access_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// For five minutes of silence identities are honoured as they were last known, and then nobody is told from anybody
// (access.md, "Identities"). Nobody waits for that at a socket: here, and only here, the tests look into a room, the one
// that decides it, over a watcher that is really cut off and with a clock of their own.
func TestRevocation_fiveMinutesOfSilence(t *testing.T) {
	y := newYard(t)
	p := newPeople(y, "org-0")
	line := startLine(t, y.etcd.Endpoint())
	watcher := registry.NewStore(line.client(t), "").Watch(t.Context(), registry.WatchOptions{})
	t.Cleanup(watcher.Close)
	select {
	case <-watcher.Ready():
	case <-time.After(patience):
		t.Fatal("the watcher is not ready")
	}
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	a := auth.New(auth.Options{
		View: func() auth.View { return watcher.View() }, SilentSince: watcher.SilentSince, Emails: registry.CanonicalEmail,
		Tokens: &auth.Tokens{Issuer: issuer, Resource: audience}, Now: now,
	})
	credentials := map[way]*auth.Credentials{
		machineBySecret: {ClientID: []string{p.machine.GetId()}, ClientSecret: []string{theSecret}},
		machineByToken:  {Authorization: []string{"Bearer " + p.key.token(claims(p.machine.GetId(), p.machine.GetId(), "tools"))}},
		delegateByToken: {Authorization: []string{"Bearer " + p.key.token(claims(p.delegate.GetId(), p.delegate.GetClientId(), "tools"))}},
		userByPassword: {
			ClientID: []string{p.user.GetEmail()}, ClientSecret: []string{thePassword},
			Organization: []string{p.organization.GetId()}, Application: []string{"orders"},
		},
	}
	expect := func(when string, want error) {
		t.Helper()
		for w, c := range credentials {
			if _, err := a.Authenticate(t.Context(), c); !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", when, w, err, want)
			}
		}
	}
	expect("in touch", nil)
	later.Store(int64(10 * time.Minute))
	expect("in touch, ten minutes later", nil)
	later.Store(0)

	line.cut()
	y.until("the watcher notices", func() bool { _, silent := watcher.SilentSince(); return silent })
	expect("cut off", nil)
	// The clock of the test goes on with the real one, so that there is a minute to spare on either side.
	later.Store(int64(4 * time.Minute))
	write(y, revocations[0].take, p)
	expect("cut off for four minutes, and the machine disabled meanwhile", nil)
	later.Store(int64(6 * time.Minute))
	expect("cut off for six minutes", auth.ErrCutOff)

	line.mend()
	y.until("the watcher is back", func() bool { _, silent := watcher.SilentSince(); return !silent })
	y.until("the news is there", func() bool { m, ok := watcher.Machine(p.machine.GetId()); return ok && m.GetDisabled() })
	for w, c := range credentials {
		_, err := a.Authenticate(t.Context(), c)
		if w == machineBySecret || w == machineByToken {
			if !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("back again: %s: %v", w, err)
			}
		} else if err != nil {
			t.Errorf("back again: %s: %v", w, err)
		}
	}
}

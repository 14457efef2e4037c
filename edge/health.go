package edge

import (
	"io"
	"net/http"
)

// healthz says that the process runs.
func (e *Edge) healthz(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") }

// readyz says whether a snapshot was loaded, and whether it is fresh or stale. A stale edge is ready: it is better than
// a dead one (DESIGN, decision 5).
func (e *Edge) readyz(w http.ResponseWriter, _ *http.Request) {
	switch {
	case !e.isReady():
		answer(w, http.StatusServiceUnavailable, "not ready: nothing was read from the registry yet")
	case e.Stale():
		answer(w, http.StatusOK, "stale")
	default:
		answer(w, http.StatusOK, "fresh")
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

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

// readOnly lets GET and HEAD through.
func readOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			answer(w, http.StatusMethodNotAllowed, "method not allowed")
			return
		}
		h.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

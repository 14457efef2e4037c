package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// openAudit opens the audit log, where there is one.
func (e *Edge) openAudit(s *settings, cfg *configv1.AuditLog) error {
	var out io.Writer
	switch {
	case s.audit != nil:
		out = s.audit
	case cfg != nil:
		file, err := lifecycle.OpenFile(cfg.GetPath())
		if err != nil {
			return fmt.Errorf("audit_log.path: %w", err)
		}
		e.auditFile, out = file, file
	default:
		return nil
	}
	e.audit = lifecycle.NewAudit(lifecycle.AuditOptions{Out: out, Logger: s.logger, Lost: e.metrics.auditLost, Now: s.now})
	return nil
}

// decided is told of access decisions; nil where nobody wants to know.
func (e *Edge) decided() func(context.Context, *lifecycle.Settlement) {
	if e.audit == nil {
		return nil
	}
	return func(_ context.Context, s *lifecycle.Settlement) { e.audit.Decided(s) }
}

// refusedToken tells of a request for a token whose client was not authenticated.
func (e *Edge) refusedToken(from auth.Origin, brought bool, status int) {
	s := &lifecycle.Settlement{
		Reference: mcp.NewReference(), Credential: lifecycle.CredentialNone, Address: from.String(), Status: status,
		At: time.Now(),
	}
	if brought {
		s.Credential = lifecycle.CredentialSecret
	}
	e.log.Info("access token refused", "reference", s.Reference, "status", status)
	if e.audit != nil {
		e.audit.Settled(s)
	}
	e.metrics.refused[s.Credential].Inc()
}

// ReopenAuditLog goes on in the file that is at the configured path now, so that whoever rotates logs can move the last
// one away. No line is lost, and those that wait to be written go into the last file. After an error the edge goes on
// writing where it did. It does nothing where the audit log is not the configuration's.
func (e *Edge) ReopenAuditLog() error {
	if e.auditFile == nil {
		return nil
	}
	_ = e.audit.Flush() // which tells of its failure itself
	if err := e.auditFile.Reopen(); err != nil {
		return fmt.Errorf("edge: open the audit log anew: %w", err)
	}
	return nil
}

func (e *Edge) closeAudit() error {
	if e.audit == nil {
		return nil
	}
	err := e.audit.Close()
	if e.auditFile != nil {
		err = errors.Join(err, e.auditFile.Close())
	}
	if err != nil {
		return fmt.Errorf("edge: close the audit log: %w", err)
	}
	return nil
}

package participant

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
)

// Participant is who is calling. Its kind is explicit and must agree with its ids; one that disagrees with itself
// reaches nothing.
type Participant = participantv1.Participant

// MaxBytes is the largest size of a serialised participant. It travels in a header, and headers are small.
const MaxBytes = 4096

// System makes a participant of the platform itself.
func System(id string) *Participant {
	return &Participant{Kind: participantv1.Kind_KIND_SYSTEM, Id: id}
}

// Organization makes a participant of an organization.
func Organization(organization, id string) *Participant {
	return &Participant{Kind: participantv1.Kind_KIND_ORGANIZATION, Id: id, OrganizationId: organization}
}

// Application makes a participant of one application of an organization.
func Application(organization, application, id string) *Participant {
	return &Participant{
		Kind: participantv1.Kind_KIND_APPLICATION, Id: id,
		OrganizationId: organization, ApplicationId: application,
	}
}

// Of makes the participant of an application, of an organization or, without either, of the platform. An application
// without an organization disagrees with itself, as [Check] says.
func Of(organization, application, id string) *Participant {
	switch {
	case application != "":
		return Application(organization, application, id)
	case organization != "":
		return Organization(organization, id)
	default:
		return System(id)
	}
}

// Anonymous makes the participant of a caller without credentials. It reaches the zones of [Rules.AnonymousZones].
func Anonymous() *Participant {
	return &Participant{Kind: participantv1.Kind_KIND_ANONYMOUS}
}

// Check reports what is wrong with a participant: a kind that disagrees with the ids, an organization or application
// id that is not a label or is `system-api`, text that is not UTF-8, more than 4 KiB serialised. Who stores or admits
// a participant checks it; [Rules.Reaches] refuses one that disagrees with itself even so.
func Check(p *Participant) error {
	if err := checkKind(p); err != nil {
		return err
	}
	for _, text := range texts(p) {
		if !utf8.ValidString(text) {
			return errors.New("participant: a text is not valid UTF-8")
		}
	}
	if size := proto.Size(p); size > MaxBytes {
		return fmt.Errorf("participant: %d bytes serialised: at most %d are allowed", size, MaxBytes)
	}
	return nil
}

func texts(p *Participant) []string {
	all := []string{p.GetId()}
	all = append(all, p.GetRoles()...)
	all = append(all, p.GetGroups()...)
	all = append(all, p.GetScopes()...)
	if o := p.GetOnBehalfOf(); o != nil {
		all = append(all, o.GetOwnerId(), o.GetClientId(), o.GetClientName())
	}
	return all
}

// checkKind is the part of Check that decides what is reached: the kind against the ids, and the ids as labels.
func checkKind(p *Participant) error {
	if p == nil {
		return errors.New("participant: there is none")
	}
	organization, application := p.GetOrganizationId() != "", p.GetApplicationId() != ""
	agrees := false
	switch p.GetKind() {
	case participantv1.Kind_KIND_SYSTEM, participantv1.Kind_KIND_ANONYMOUS:
		agrees = !organization && !application
	case participantv1.Kind_KIND_ORGANIZATION:
		agrees = organization && !application
	case participantv1.Kind_KIND_APPLICATION:
		agrees = organization && application
	case participantv1.Kind_KIND_UNSPECIFIED:
		return errors.New("participant: the kind is unspecified")
	default:
		return fmt.Errorf("participant: kind %d is not known", p.GetKind())
	}
	if !agrees {
		return fmt.Errorf("participant: kind %v disagrees with the ids (organization: %t, application: %t): a system or "+
			"anonymous participant has neither, an organization has its own alone, an application has both",
			p.GetKind(), organization, application)
	}
	if organization {
		if err := checkID("organization", p.GetOrganizationId()); err != nil {
			return err
		}
	}
	if application {
		return checkID("application", p.GetApplicationId())
	}
	return nil
}

func checkID(what, id string) error {
	if id == SystemZone {
		return fmt.Errorf("participant: %q is reserved and is no %s id", id, what)
	}
	if err := CheckLabel(id); err != nil {
		return fmt.Errorf("participant: %s id: %w", what, err)
	}
	return nil
}

// contextKey is the type of the one key under which a context carries a participant.
type contextKey struct{}

// NewContext gives a context that carries the participant. Only who verified the participant does this.
func NewContext(ctx context.Context, p *Participant) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext gives the participant that the context carries. The participant is shared: do not modify it.
func FromContext(ctx context.Context) (*Participant, bool) {
	p, ok := ctx.Value(contextKey{}).(*Participant)
	return p, ok && p != nil
}

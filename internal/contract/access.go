package contract

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// The numbers of option fields that an edge must understand to serve a tool. The protos reserve them.
const (
	mustUnderstandFirst = 1000
	mustUnderstandLast  = 1999
)

// deniedBy gives the reason for which a tool is denied to everybody, or nothing. Unknown means no: a rule that this
// build cannot read might forbid what it would otherwise allow. A merely cosmetic unknown field does not deny.
func deniedBy(access *toolv1.Access, options ...proto.Message) string {
	for _, o := range options {
		if n := firstUnknown(o, mustUnderstandFirst, mustUnderstandLast); n != 0 {
			return fmt.Sprintf("its %s option has field %d, which this build does not know and must understand",
				strings.ToLower(string(o.ProtoReflect().Descriptor().Name())), n)
		}
	}
	if access == nil {
		return ""
	}
	if n := firstUnknown(access, 1, protowire.MaxValidNumber); n != 0 {
		return fmt.Sprintf("its access rule has field %d, which this build does not know", n)
	}
	switch access.GetMode() {
	case toolv1.AccessMode_ACCESS_MODE_UNSPECIFIED, toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL:
		return ""
	case toolv1.AccessMode_ACCESS_MODE_DENY_ALL:
		return "its access rule denies everybody"
	default:
		return fmt.Sprintf("its access rule has mode %d, which this build does not know", access.GetMode())
	}
}

// restrictedBy says what of an access rule must be judged for each caller, or nothing.
func restrictedBy(access *toolv1.Access) string {
	var rules []string
	if len(access.GetRoles()) > 0 {
		rules = append(rules, "one of the roles "+strings.Join(access.GetRoles(), ", "))
	}
	if access.GetAction() != "" {
		rules = append(rules, "the action "+access.GetAction())
	}
	if access.GetPolicy() != "" {
		rules = append(rules, "a policy that is true")
	}
	if len(rules) == 0 {
		return ""
	}
	return "access needs " + strings.Join(rules, " and ")
}

// firstUnknown gives the number of the first unknown field of m between first and last, or 0.
func firstUnknown(m proto.Message, first, last protowire.Number) protowire.Number {
	if m == nil || !m.ProtoReflect().IsValid() {
		return 0
	}
	for raw := []byte(m.ProtoReflect().GetUnknown()); len(raw) > 0; {
		n, _, size := protowire.ConsumeField(raw)
		if size < 0 {
			// What cannot be read is not understood.
			return first
		}
		if first <= n && n <= last {
			return n
		}
		raw = raw[size:]
	}
	return 0
}

// option reads one of our options from a declaration.
func option[T proto.Message](d protoreflect.Descriptor, xt protoreflect.ExtensionType) (value T, present bool) {
	options := d.Options()
	if options == nil || !options.ProtoReflect().IsValid() || !proto.HasExtension(options, xt) {
		return value, false
	}
	value, present = proto.GetExtension(options, xt).(T)
	return value, present
}

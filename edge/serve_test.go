package edge_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

func TestConfiguredLimits(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  *configv1.EdgeConfig
		want edge.Limits
	}{
		{"no configuration", nil, edge.Limits{}},
		{"no limits", &configv1.EdgeConfig{}, edge.Limits{}},
		{"all of them", &configv1.EdgeConfig{
			BodyTimeout: durationpb.New(time.Second), IdleTimeout: durationpb.New(2 * time.Second), WriteTimeout: durationpb.New(3 * time.Second),
		}, edge.Limits{BodyTimeout: time.Second, IdleTimeout: 2 * time.Second, WriteTimeout: 3 * time.Second}},
	} {
		if got := edge.ConfiguredLimits(row.cfg); got != row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

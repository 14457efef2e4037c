// Package corpora_test runs schema, gate and transcoder over the descriptors of real APIs (testdata/NOTICE): what every
// unary RPC of them asks and answers has a schema within its budget, which a neutral validator compiles; its gate and
// its transcoder compile; and what is drawn for it passes through both unchanged.
package corpora_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// refused are the RPCs that cannot be published as they are, with the words for it, by the names that a profile
// publishes. They are defects of the API by our rules: a field that every caller must give and none may, and names that
// are too long for model APIs.
var refused = map[string]map[protoreflect.FullName]string{
	jsonNames: {
		"google.cloud.aiplatform.v1.DatasetService.CreateDatasetVersion":                   outputOnly,
		"google.cloud.aiplatform.v1.DatasetService.UpdateDatasetVersion":                   outputOnly,
		"google.cloud.aiplatform.v1beta1.DatasetService.CreateDatasetVersion":              outputOnly,
		"google.cloud.aiplatform.v1beta1.DatasetService.UpdateDatasetVersion":              outputOnly,
		"google.cloud.compute.v1beta.InstanceGroupManagers.ConfigureAcceleratorTopologies": tooLong,
	},
	protoNames: {
		"google.cloud.aiplatform.v1.DatasetService.CreateDatasetVersion":                     outputOnly,
		"google.cloud.aiplatform.v1.DatasetService.UpdateDatasetVersion":                     outputOnly,
		"google.cloud.aiplatform.v1beta1.DatasetService.CreateDatasetVersion":                outputOnly,
		"google.cloud.aiplatform.v1beta1.DatasetService.UpdateDatasetVersion":                outputOnly,
		"google.cloud.compute.v1.GlobalVmExtensionPolicies.Delete":                           tooLong,
		"google.cloud.compute.v1.RegionInstanceGroupManagers.AbandonInstances":               tooLong,
		"google.cloud.compute.v1.RegionInstanceGroupManagers.DeletePerInstanceConfigs":       tooLong,
		"google.cloud.compute.v1.RegionInstanceGroupManagers.SuspendInstances":               tooLong,
		"google.cloud.compute.v1.RegionInstanceGroupManagers.UpdatePerInstanceConfigs":       tooLong,
		"google.cloud.compute.v1.RegionTargetHttpsProxies.SetSslCertificates":                tooLong,
		"google.cloud.compute.v1beta.GlobalVmExtensionPolicies.Delete":                       tooLong,
		"google.cloud.compute.v1beta.RegionInstanceGroupManagers.AbandonInstances":           tooLong,
		"google.cloud.compute.v1beta.RegionInstanceGroupManagers.DeletePerInstanceConfigs":   tooLong,
		"google.cloud.compute.v1beta.RegionInstanceGroupManagers.SuspendInstances":           tooLong,
		"google.cloud.compute.v1beta.RegionInstanceGroupManagers.UpdatePerInstanceConfigs":   tooLong,
		"google.cloud.compute.v1beta.RegionTargetHttpsProxies.SetSslCertificates":            tooLong,
		"google.cloud.compute.v1beta.InstanceGroupManagers.ConfigureAcceleratorTopologies":   tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.ExecuteMultiOperation":              tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.GetWorkflowExecutionHistory":        tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.GetWorkflowExecutionHistoryReverse": tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.PollWorkflowTaskQueue":              tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.RespondWorkflowTaskCompleted":       tooLong,
		"temporal.api.workflowservice.v1.WorkflowService.StartWorkflowExecution":             tooLong,
	},
}

const (
	jsonNames  = "JSON names"
	protoNames = "proto names"
	outputOnly = "DatasetVersion.metadata: it is required, but no caller can give it"
	tooLong    = "is not of the form [A-Za-z0-9_.-]{1,64} that model APIs accept"
)

func names(p schema.Profile) string {
	if p.ProtoNames {
		return protoNames
	}
	return jsonNames
}

// unary is how many unary RPCs each set has: a set that loses some would pass in silence.
var unary = map[string]int{
	"cloud_google_com_go_aiplatform":               737,
	"cloud_google_com_go_compute":                  2121,
	"cloud_google_com_go_dataplex":                 135,
	"cloud_google_com_go_kms":                      65,
	"cloud_google_com_go_networkmanagement":        23,
	"cloud_google_com_go_pubsub_v2":                34,
	"cloud_google_com_go_run":                      54,
	"cloud_google_com_go_spanner":                  70,
	"github_com_containerd_containerd_api":         125,
	"github_com_envoyproxy_go-control-plane_envoy": 25,
	"go_etcd_io_etcd_api_v3":                       38,
	"go_opentelemetry_io_proto_otlp":               5,
	"go_temporal_io_api":                           140,
	"go_temporal_io_cloud-sdk":                     95,
	"istio_io_api":                                 1,
	"k8s_io_cri-api":                               36,
}

// TestCorpora tries every RPC under every profile: the first profile with drawn documents for each, the others with
// drawn documents for every third.
func TestCorpora(t *testing.T) {
	paths := sets(t)
	found := map[string]map[protoreflect.FullName]bool{jsonNames: {}, protoNames: {}}
	total := map[string]*report{}
	for _, path := range paths {
		name := setName(path)
		t.Run(name, func(t *testing.T) {
			methods := unaryMethods(t, load(t, path))
			if len(methods) != unary[name] {
				t.Errorf("%d unary RPCs, want %d", len(methods), unary[name])
			}
			for i, id := range schema.BuiltinIDs() {
				profile, _ := schema.Builtin(id)
				c := newCorpus(profile, found[names(profile)])
				for seed, method := range methods {
					c.rpc(t, method, seed, i == 0 || seed%3 == i-1)
				}
				if i == 0 {
					t.Log(c.report.String())
				}
				if total[id] == nil {
					total[id] = &report{}
				}
				total[id].add(c.report)
			}
		})
	}
	for kind, list := range refused {
		for name, words := range list {
			if !found[kind][name] {
				t.Errorf("%s is published by its %s, although it is listed as refused: %s", name, kind, words)
			}
		}
	}
	for _, id := range schema.BuiltinIDs() {
		t.Logf("all, %s: %s", id, total[id])
	}
}

// TestCorpora_everyMessage derives every message as a request and as a response, whether an RPC uses it or not: most of
// the recursion is in the messages that Envoy's configuration consists of. None crashes or takes its time, none is
// over the budget, and what is refused is refused for one of the reasons that there are.
func TestCorpora_everyMessage(t *testing.T) {
	profile, _ := schema.Builtin("protojson")
	total, refusals := report{}, 0
	for _, path := range sets(t) {
		set := read(t, path)
		files, err := protodesc.NewFiles(set)
		if err != nil {
			continue // etcd's files name their imports otherwise than themselves; its RPCs are tried above
		}
		var mds []protoreflect.MessageDescriptor
		files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
			mds = appendMessages(mds, fd.Messages())
			return true
		})
		r := report{}
		for _, md := range mds {
			for _, derive := range []func(protoreflect.MessageDescriptor, schema.Profile) (*schema.Document, []string, error){schema.Input, schema.Output} {
				start := time.Now()
				doc, warnings, err := derive(md, profile)
				switch {
				case err != nil:
					refusals++
					if text := err.Error(); !strings.Contains(text, "it is required, but no caller can give it") && !strings.Contains(text, tooLong) {
						t.Errorf("%s: %v", md.FullName(), err)
					}
				case doc != nil:
					r.note(string(md.FullName()), len(doc.JSON()), time.Since(start), len(warnings) > 0)
				}
			}
		}
		t.Logf("%s: %d messages; %s", setName(path), len(mds), r.schemaText())
		total.add(r)
	}
	t.Logf("all, %d refused: %s", refusals, total.schemaText())
}

func appendMessages(list []protoreflect.MessageDescriptor, mds protoreflect.MessageDescriptors) []protoreflect.MessageDescriptor {
	for i := range mds.Len() {
		if md := mds.Get(i); !md.IsMapEntry() {
			list = appendMessages(append(list, md), md.Messages())
		}
	}
	return list
}

// sets are the paths of the descriptor sets.
func sets(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.binpb.gz"))
	if err != nil || len(paths) != len(unary) {
		t.Fatalf("%d sets, want %d: %v", len(paths), len(unary), err)
	}
	return paths
}

func setName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".binpb.gz") }

// load reads one set and brings it into the form in which a contract with all its services travels.
func load(t *testing.T, path string) []protoreflect.ServiceDescriptor {
	t.Helper()
	set := read(t, path)
	var names []string
	for _, file := range set.GetFile() {
		for _, service := range file.GetService() {
			names = append(names, strings.TrimPrefix(file.GetPackage()+"."+service.GetName(), "."))
		}
	}
	raw, _, err := contract.Normalize(set, names)
	if err != nil {
		t.Fatal(err)
	}
	normal := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, normal); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(normal)
	if err != nil {
		t.Fatal(err)
	}
	var services []protoreflect.ServiceDescriptor
	for _, name := range names {
		desc, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		services = append(services, desc.(protoreflect.ServiceDescriptor))
	}
	return services
}

func read(t *testing.T, path string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// unaryMethods lists the unary RPCs by name.
func unaryMethods(t *testing.T, services []protoreflect.ServiceDescriptor) (list []protoreflect.MethodDescriptor) {
	t.Helper()
	for _, sd := range services {
		for i := range sd.Methods().Len() {
			if method := sd.Methods().Get(i); !method.IsStreamingClient() && !method.IsStreamingServer() {
				list = append(list, method)
			}
		}
	}
	slices.SortFunc(list, func(a, b protoreflect.MethodDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return list
}

// corpus is one set under test by one profile. Many RPCs share a message, which is then tried once.
type corpus struct {
	profile             schema.Profile
	found               map[protoreflect.FullName]bool
	requests, responses map[protoreflect.FullName]error
	report              report
}

func newCorpus(p schema.Profile, found map[protoreflect.FullName]bool) *corpus {
	return &corpus{profile: p, found: found, requests: map[protoreflect.FullName]error{}, responses: map[protoreflect.FullName]error{}}
}

// rpc tries what one RPC asks and answers.
func (c *corpus) rpc(t *testing.T, method protoreflect.MethodDescriptor, seed int, draw bool) {
	t.Helper()
	c.report.rpcs++
	in, out := method.Input(), method.Output()
	if _, known := c.requests[in.FullName()]; !known {
		c.requests[in.FullName()] = c.request(t, in, seed, draw)
	}
	if _, known := c.responses[out.FullName()]; !known {
		c.responses[out.FullName()] = c.response(t, out, seed, draw)
	}
	if err := errors.Join(c.requests[in.FullName()], c.responses[out.FullName()]); err != nil {
		words, listed := refused[names(c.profile)][method.FullName()]
		if !listed || !strings.Contains(err.Error(), words) {
			t.Errorf("%s by %s: %v", method.FullName(), c.profile.ID, err)
		}
		c.found[method.FullName()] = true
		c.report.refused++
	}
}

// derived notes what a schema cost and weighs, and compiles it with a validator that nobody here wrote.
func (c *corpus) derived(t *testing.T, md protoreflect.MessageDescriptor, direction string, derive func() (*schema.Document, []string, error)) (*schema.Document, error) {
	t.Helper()
	start := time.Now()
	doc, warnings, err := derive()
	took := time.Since(start)
	if err != nil || doc == nil {
		return nil, err
	}
	c.report.note(fmt.Sprintf("%s of %s", direction, md.FullName()), len(doc.JSON()), took, len(warnings) > 0)
	if len(doc.JSON()) > schema.MaxSize {
		t.Errorf("%s of %s has %d bytes", direction, md.FullName(), len(doc.JSON()))
	}
	return doc, nil
}

// report counts and measures.
type report struct {
	rpcs, refused, schemas, bytes, heavy int
	documents, mutants, responses        int
	largest, slowest                     string
	largestBytes                         int
	derive, slowestTook, compile         time.Duration
}

func (r *report) note(what string, size int, took time.Duration, warned bool) {
	r.schemas++
	r.bytes += size
	r.derive += took
	if warned {
		r.heavy++
	}
	if size > r.largestBytes {
		r.largest, r.largestBytes = what, size
	}
	if took > r.slowestTook {
		r.slowest, r.slowestTook = what, took
	}
}

func (r *report) add(o report) {
	r.rpcs, r.refused, r.schemas, r.bytes, r.heavy = r.rpcs+o.rpcs, r.refused+o.refused, r.schemas+o.schemas, r.bytes+o.bytes, r.heavy+o.heavy
	r.documents, r.mutants, r.responses = r.documents+o.documents, r.mutants+o.mutants, r.responses+o.responses
	r.derive, r.compile = r.derive+o.derive, r.compile+o.compile
	if o.largestBytes > r.largestBytes {
		r.largest, r.largestBytes = o.largest, o.largestBytes
	}
	if o.slowestTook > r.slowestTook {
		r.slowest, r.slowestTook = o.slowest, o.slowestTook
	}
}

func (r *report) String() string {
	return fmt.Sprintf("%d unary RPCs, %d refused; %s; gates and transcoders compiled in %v; %d documents, %d mutants, %d responses",
		r.rpcs, r.refused, r.schemaText(), r.compile.Round(time.Millisecond), r.documents, r.mutants, r.responses)
}

func (r *report) schemaText() string {
	return fmt.Sprintf("%d schemas of %d bytes, %d over the warning size; largest: %s, %d bytes; derived in %v, slowest: %s, %v",
		r.schemas, r.bytes, r.heavy, r.largest, r.largestBytes, r.derive.Round(time.Millisecond), r.slowest, r.slowestTook.Round(time.Microsecond))
}

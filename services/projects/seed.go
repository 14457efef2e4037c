package projects

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
)

const (
	private = projectsv1.Visibility_VISIBILITY_PRIVATE
	public  = projectsv1.Visibility_VISIBILITY_PUBLIC
)

// seeds are the projects of a new store, the oldest first. The organization owns the repository.
var seeds = []struct {
	organization, name, displayName, description string
	visibility                                   projectsv1.Visibility
	languages                                    map[string]float64
	maintainers                                  []string
}{
	{"acme-org", "storefront", "Storefront", "The shop that customers see.", private, map[string]float64{"TypeScript": 81.5, "CSS": 14, "HTML": 4.5}, []string{"clara@acme.example", "hugo@acme.example"}},
	{"acme-org", "orders-app", "Orders", "Takes, prices and tracks orders.", private, map[string]float64{"Go": 97.2, "Makefile": 2.8}, []string{"bruno@acme.example"}},
	{"acme-org", "warehouse", "Warehouse", "Stock, picking and packing.", private, map[string]float64{"Java": 92.1, "Kotlin": 7.9}, []string{"petra@acme.example", "sven@acme.example"}},
	{"acme-org", "brew-guides", "Brew Guides", "How to make better tea and coffee.", public, map[string]float64{"Markdown": 100}, []string{"mila@acme.example"}},
	{"acme-org", "price-list", "Price List", "Prices in every currency, and the tool that checks them.", private, map[string]float64{"Python": 88, "Shell": 12}, []string{"noor@acme.example"}},
	{"globex", "reactor-console", "Reactor Console", "What the control room looks at.", private, map[string]float64{"Rust": 74.4, "TypeScript": 25.6}, []string{"keiko@globex.example"}},
	{"globex", "sensor-hub", "Sensor Hub", "Collects measurements from the plants.", private, map[string]float64{"C++": 61, "Go": 39}, []string{"oscar@globex.example", "rosa@globex.example"}},
	{"globex", "open-telemetry-kit", "Telemetry Kit", "Exporters for our instruments.", public, map[string]float64{"Go": 100}, []string{"liam@globex.example"}},
	{"initech", "reports", "Reports", "Cover sheets included.", private, map[string]float64{"C#": 95.3, "SQL": 4.7}, []string{"tessa@initech.example"}},
	{"initech", "payroll", "Payroll", "Rounds to the cent.", private, map[string]float64{"Java": 100}, []string{"farid@initech.example"}},
}

var seedTime = time.Date(2025, time.February, 3, 9, 0, 0, 0, time.UTC)

func seedProjects() []*projectsv1.Project {
	out := make([]*projectsv1.Project, 0, len(seeds))
	for i, s := range seeds {
		out = append(out, &projectsv1.Project{
			Id: "prj-" + s.name, OrganizationId: s.organization, DisplayName: s.displayName, Description: s.description,
			RepoFullName: s.organization + "/" + s.name, DefaultBranch: "main", Visibility: s.visibility,
			Languages: s.languages, Maintainers: s.maintainers,
			CreatedAt: timestamppb.New(seedTime.AddDate(0, i, i)),
		})
	}
	return out
}

// seedEnvironments gives every project the three usual environments.
func seedEnvironments(p *projectsv1.Project) []*projectsv1.Environment {
	out := []*projectsv1.Environment{
		{Name: "development", Stage: projectsv1.Stage_STAGE_DEVELOPMENT, Replicas: 1, IdleTimeout: durationpb.New(30 * time.Minute)},
		{Name: "staging", Stage: projectsv1.Stage_STAGE_STAGING, Replicas: 1, IdleTimeout: durationpb.New(8 * time.Hour)},
		{Name: "production", Stage: projectsv1.Stage_STAGE_PRODUCTION, Replicas: 3, Protected: true},
	}
	for i, e := range out {
		e.Id, e.ProjectId = environmentID(p.GetId(), e.GetName()), p.GetId()
		e.Variables = map[string]string{"STAGE": e.GetName(), "LOG_LEVEL": [...]string{"debug", "info", "warn"}[i]}
		created := p.GetCreatedAt().AsTime().AddDate(0, 0, 1+i)
		e.CreatedAt, e.UpdatedAt = timestamppb.New(created), timestamppb.New(created)
	}
	return out
}

// environmentID names an environment by its project and its name.
func environmentID(projectID, name string) string {
	return "env-" + strings.TrimPrefix(projectID, "prj-") + "-" + name
}

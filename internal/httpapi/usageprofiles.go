package httpapi

import (
	"context"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// profileMembers is the default for the largest number of members (tasks) of a usage profile in an answer.
const profileMembers = 100

// usageProfiles returns the usage profiles of a namespace that the caller may access. If `namespace` is nil,
// auth.Grants.OneNamespace selects one. `f` has the errors of the other parameters.
func (s *server) usageProfiles(ctx context.Context, f *fieldReader, namespace *string) (*service.UsageProfiles, error) {
	if namespace != nil {
		if detail := sizing.CheckID(*namespace); detail != "" {
			f.add("namespace", "%s", detail)
		}
	}
	if len(f.errors) > 0 {
		return nil, invalidFields(f.errors)
	}
	allowed, err := infoOf(ctx).grants.OneNamespace(valueOr(namespace, ""))
	if err != nil {
		return nil, err
	}
	return s.svc.UsageProfiles(ctx, allowed)
}

// ListUsageProfiles lists the usage profiles of a namespace: groups of runs that use resources alike.
func (s *server) ListUsageProfiles(ctx context.Context, r api.ListUsageProfilesRequestObject) (api.ListUsageProfilesResponseObject, error) {
	set, err := s.usageProfiles(ctx, &fieldReader{}, r.Params.Namespace)
	if err != nil {
		return nil, err
	}
	answer := api.UsageProfileSet{
		Namespace: set.Namespace, Version: set.Version, LearnedAt: set.LearnedAt, Runs: set.Runs(), Tasks: len(set.Tasks), Quantities: []string{},
		MinRuns: set.MinSize, Coverage: set.Coverage, Silhouette: set.Silhouette, DaviesBouldin: set.DaviesBouldin, Hopkins: set.Hopkins,
		Profiles: []api.UsageProfile{}, Outliers: usageProfileAnswer(&set.Outliers),
	}
	for _, q := range set.Quantities {
		answer.Quantities = append(answer.Quantities, q.String())
	}
	for i := range set.Profiles {
		answer.Profiles = append(answer.Profiles, usageProfileAnswer(&set.Profiles[i]))
	}
	if p := set.Predictability; p != nil {
		answer.Metadata = &api.UsageProfileMetadata{Tasks: p.Tasks, Majority: p.Majority, Accuracy: p.Accuracy, Fields: []api.UsageProfileField{}}
		for _, f := range p.Fields {
			answer.Metadata.Fields = append(answer.Metadata.Fields, api.UsageProfileField{Name: f.Name, Tasks: f.Tasks, Alone: f.Alone, Without: f.Without})
		}
	}
	return api.ListUsageProfiles200JSONResponse(answer), nil
}

// GetUsageProfile describes one usage profile. It lists only tasks that the caller may access.
func (s *server) GetUsageProfile(ctx context.Context, r api.GetUsageProfileRequestObject) (api.GetUsageProfileResponseObject, error) {
	var f fieldReader
	limit := f.pageLimit(r.Params.Limit, profileMembers)
	set, err := s.usageProfiles(ctx, &f, r.Params.Namespace)
	if err != nil {
		return nil, err
	}
	p := set.Find(r.ProfileID)
	if p == nil {
		return nil, sizing.Errorf(sizing.NotFound, "namespace %s has no usage profile %d: GET /profiles lists them", set.Namespace, r.ProfileID)
	}
	answer := api.UsageProfileDetail{
		Namespace: set.Namespace, Version: set.Version, LearnedAt: set.LearnedAt, Profile: usageProfileAnswer(p), Members: []api.UsageProfileMember{},
	}
	grants := infoOf(ctx).grants
	for _, m := range set.Members(p.ID) {
		key := sizing.TaskKey{Namespace: set.Namespace, DAG: m.DAG, Task: m.Task.Task}
		if len(answer.Members) < limit && grants.Covers(key) {
			answer.Members = append(answer.Members, api.UsageProfileMember{DagID: key.DAG, TaskID: key.Task, Runs: m.Runs, Share: m.Share})
		}
	}
	return api.GetUsageProfile200JSONResponse(answer), nil
}

func usageProfileAnswer(p *usageprofile.Profile) api.UsageProfile {
	answer := api.UsageProfile{ID: p.ID, Runs: p.Runs, Tasks: p.Tasks, Killed: p.Killed, Share: p.Share, Spreads: []api.UsageSpread{}}
	if p.PreviousShare >= 0 {
		answer.PreviousShare = &p.PreviousShare
	}
	for q, spread := range p.Spreads {
		if spread.Known > 0 {
			answer.Spreads = append(answer.Spreads, api.UsageSpread{
				Quantity: usageprofile.Quantity(q).String(), Runs: spread.Known, P10: spread.P10, P50: spread.P50, P90: spread.P90,
			})
		}
	}
	return answer
}

func addTaskUsage(t *api.TaskProfile, usage *service.TaskUsage) {
	if usage == nil || usage.Profile == nil {
		return
	}
	t.Profile = &api.TaskUsageProfile{ID: usage.Profile.ID, Version: usage.Version, Share: usage.Share}
	if len(usage.Newest) == 0 {
		return
	}
	newest := &usage.Newest[len(usage.Newest)-1]
	t.Anomaly = &api.UsageAnomaly{Score: newest.Score, ShareAbove: newest.TailShare, IsOutlier: newest.IsOutlier(), Runs: len(usage.Newest)}
	for i := range usage.Newest {
		t.Anomaly.MeanScore += usage.Newest[i].Score / float64(len(usage.Newest))
		if usage.Newest[i].IsOutlier() {
			t.Anomaly.Outliers++
		}
	}
}

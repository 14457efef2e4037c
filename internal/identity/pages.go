package identity

import "github.com/sallyport-dev/sallyport/internal/registry/rpc"

// paged is a request for a page.
type paged interface {
	GetPageSize() int32
	GetPageToken() string
}

// pageOf reads one page: read gives at most so many items after a name, place the name of an item.
func pageOf[M, A any](req paged, read func(after string, limit int) ([]M, bool, error), place func(M) string, show func(M) A) (items []A, next string, err error) {
	after := ""
	if token := req.GetPageToken(); token != "" {
		if after, err = rpc.PlaceOf(token); err != nil {
			return nil, "", err
		}
	}
	all, more, err := read(after, rpc.PageSize(req.GetPageSize()))
	if err != nil {
		return nil, "", rpc.StatusOf(err)
	}
	for _, m := range all {
		items = append(items, show(m))
	}
	if more && len(all) > 0 {
		next = rpc.Token(place(all[len(all)-1]))
	}
	return items, next, nil
}

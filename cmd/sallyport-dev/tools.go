package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// demoTitles are titles of tools, one of each demo service and one of the registry's own.
var demoTitles = []string{"Orders Find Order", "Project Service Find By Repo Full Name", "Registry Service List Zones"}

// awaitTools asks the edge, as the system participant, until it lists a tool of every service of the house.
func (h *house) awaitTools(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		missing, err := h.missingTool(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && missing == "" {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-h.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("the edge does not list %q: start again with --verbose to see why", missing)
		}
	}
}

func (h *house) missingTool(ctx context.Context) (string, error) {
	var listed []byte
	cursor := ""
	for {
		page, next, err := h.listPage(ctx, cursor)
		if err != nil {
			return "", err
		}
		listed = append(listed, page...)
		if next == "" {
			break
		}
		cursor = next
	}
	for _, title := range demoTitles {
		if !bytes.Contains(listed, []byte(`"title":"`+title+`"`)) {
			return title, nil
		}
	}
	return "", nil
}

// listPage asks for one page of tools. Its answer is read with as little as the question needs.
func (h *house) listPage(ctx context.Context, cursor string) (page []byte, next string, err error) {
	params := ""
	if cursor != "" {
		params = `,"params":{"cursor":"` + cursor + `"}`
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"` + params + `}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.description.MCPURL, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("clientId", h.description.Machines.System.ClientID)
	request.Header.Set("clientSecret", h.description.Machines.System.ClientSecret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	page, err = io.ReadAll(response.Body)
	if _, rest, found := bytes.Cut(page, []byte(`"nextCursor":"`)); found {
		if end := bytes.IndexByte(rest, '"'); end >= 0 {
			next = string(rest[:end])
		}
	}
	return page, next, err
}

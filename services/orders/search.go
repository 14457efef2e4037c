package orders

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

const (
	defaultPageSize = 20
	tokenVersion    = 1
)

// errPageToken says that a page token is not one that this search gave out.
var errPageToken = errors.New("it is not the token of a page of this search: repeat the filters that it came with, or leave it out")

// search finds orders and cuts one page out of them. It reads every order: the demo has hundreds of them.
func search(store *Store, request *ordersv1.SearchRequest) (*ordersv1.SearchResponse, error) {
	response := &ordersv1.SearchResponse{CountByStatus: make(map[string]int32)}
	var found []*ordersv1.Order
	if err := store.Each(func(order *ordersv1.Order) {
		if matches(order, request) {
			found = append(found, order)
			response.CountByStatus[order.GetStatus().String()]++
		}
	}); err != nil {
		return nil, err
	}
	response.TotalCount = int32(len(found))

	compare := sorting(request.GetSort())
	slices.SortFunc(found, compare)
	if request.GetPageToken() != "" {
		last, err := lastOf(store, request)
		if err != nil {
			return nil, err
		}
		// What an order is sorted by never changes, so that the page goes on behind it even where it is no longer found.
		next, _ := slices.BinarySearchFunc(found, last, func(order, last *ordersv1.Order) int {
			if compare(order, last) <= 0 {
				return -1
			}
			return 1
		})
		found = found[next:]
	}
	size := cmp.Or(int(request.GetPageSize()), defaultPageSize)
	if len(found) > size {
		found = found[:size]
		response.NextPageToken = pageToken(request, found[size-1])
	}
	response.Orders = found
	return response, nil
}

func matches(order *ordersv1.Order, request *ordersv1.SearchRequest) bool {
	if len(request.GetStatuses()) > 0 && !slices.Contains(request.GetStatuses(), order.GetStatus()) {
		return false
	}
	if id := request.GetCustomerId(); id != "" && order.GetCustomer().GetCustomerId() != id {
		return false
	}
	for key, value := range request.GetLabels() {
		if got, ok := order.GetLabels()[key]; !ok || got != value {
			return false
		}
	}
	return placedWithin(order, request.GetPlaced()) && costsWithin(order, request.GetTotal()) && hasText(order, request.GetText())
}

func placedWithin(order *ordersv1.Order, r *ordersv1.TimeRange) bool {
	placed := order.GetPlacedAt().AsTime()
	return (r.GetFrom() == nil || !placed.Before(r.GetFrom().AsTime())) &&
		(r.GetUntil() == nil || placed.Before(r.GetUntil().AsTime()))
}

func costsWithin(order *ordersv1.Order, r *ordersv1.MoneyRange) bool {
	total := order.GetTotal()
	if least := r.GetAtLeast(); least != nil && (least.GetCurrencyCode() != total.GetCurrencyCode() || compareMoney(total, least) < 0) {
		return false
	}
	most := r.GetAtMost()
	return most == nil || most.GetCurrencyCode() == total.GetCurrencyCode() && compareMoney(total, most) <= 0
}

// hasText says whether each word of the text occurs somewhere in the customer's name, a product's name or a sku.
func hasText(order *ordersv1.Order, text string) bool {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return true
	}
	haystack := []string{order.GetCustomer().GetName()}
	for _, line := range order.GetLines() {
		haystack = append(haystack, line.GetProductName(), line.GetSku())
	}
	all := strings.ToLower(strings.Join(haystack, "\n"))
	for _, word := range words {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// sorting compares by what never changes about an order, and by its number in the end: no two are equal. Totals of
// different currencies are grouped by currency.
func sorting(sort ordersv1.OrderSort) func(a, b *ordersv1.Order) int {
	oldest := func(a, b *ordersv1.Order) int {
		return cmp.Or(a.GetPlacedAt().AsTime().Compare(b.GetPlacedAt().AsTime()), compareIDs(a, b))
	}
	switch sort {
	case ordersv1.OrderSort_ORDER_SORT_OLDEST:
		return oldest
	case ordersv1.OrderSort_ORDER_SORT_LARGEST:
		return func(a, b *ordersv1.Order) int {
			return cmp.Or(
				strings.Compare(a.GetTotal().GetCurrencyCode(), b.GetTotal().GetCurrencyCode()),
				compareMoney(b.GetTotal(), a.GetTotal()),
				compareIDs(a, b))
		}
	}
	return func(a, b *ordersv1.Order) int { return oldest(b, a) }
}

func compareIDs(a, b *ordersv1.Order) int {
	// Longer numbers are larger ones.
	return cmp.Or(cmp.Compare(len(a.GetOrderId()), len(b.GetOrderId())), strings.Compare(a.GetOrderId(), b.GetOrderId()))
}

// pageToken names the last order of a page and the search that it belongs to.
func pageToken(request *ordersv1.SearchRequest, last *ordersv1.Order) string {
	number, _ := parseID(last.GetOrderId())
	token := binary.BigEndian.AppendUint64([]byte{tokenVersion}, fingerprint(request))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(token, number))
}

func lastOf(store *Store, request *ordersv1.SearchRequest) (*ordersv1.Order, error) {
	token, err := base64.RawURLEncoding.Strict().DecodeString(request.GetPageToken())
	if err != nil || len(token) != 17 || token[0] != tokenVersion || binary.BigEndian.Uint64(token[1:]) != fingerprint(request) {
		return nil, errPageToken
	}
	last, err := store.Get(formatID(binary.BigEndian.Uint64(token[9:])))
	if errors.Is(err, ErrNotFound) {
		return nil, errPageToken
	}
	return last, err
}

// fingerprint tells searches apart by everything but the page.
func fingerprint(request *ordersv1.SearchRequest) uint64 {
	filters := proto.CloneOf(request)
	filters.PageSize, filters.PageToken = 0, ""
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(filters)
	if err != nil {
		// A request that came over the wire can be written to it.
		panic("orders: encode search: " + err.Error())
	}
	h := fnv.New64a()
	h.Write(raw)
	return h.Sum64()
}

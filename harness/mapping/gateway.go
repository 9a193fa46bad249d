package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// The placeholders for variables with which a server calls models through a gateway, which counts
// their cost.
const (
	gatewayURL = "gateway"     // the base URL of the gateway, which ends in /v1
	gatewayKey = "gateway_key" // the key that the gateway takes
)

// The variables that a gateway sets, and the default address without a gateway.
const (
	baseVariable = "OPENAI_BASE_URL"
	keyVariable  = "OPENAI_API_KEY"
	defaultBase  = "https://api.openai.com/v1"
)

// Models says who counts the cost of the models that the service calls by itself.
func (m *Mapping) Models() result.Models {
	switch {
	case m.models != "":
		return m.models
	case m.Gateway():
		return result.ModelsGateway
	}
	return result.ModelsUnknown
}

// models says who counts the cost of this service's models. A service that was already running did
// not receive the address of a gateway.
func (s *Service) models() result.Models {
	if m := s.mapping.Models(); m != result.ModelsGateway || s.metered {
		return m
	}
	return result.ModelsUnknown
}

// Gateway reports whether a started server receives the address of a gateway.
func (m *Mapping) Gateway() bool {
	for _, value := range m.env {
		if value.uses(gatewayURL) || value.uses(gatewayKey) {
			return true
		}
	}
	return false
}

// gateway adds the values of the gateway placeholders. They come from given, where a gateway has
// set them. In commands without a gateway they are the user's own, and the user must have named the
// key.
func (s *Service) gateway(values map[string]any, given []string) error {
	if !s.mapping.Gateway() {
		return nil
	}
	of := func(name string) string {
		for _, variable := range slices.Backward(given) {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		if name == keyVariable && !slices.Contains(s.cfg.Profile.Passed, name) || s.cfg.Env == nil {
			return ""
		}
		return s.cfg.Env(name)
	}
	values[gatewayURL], values[gatewayKey] = cmp.Or(of(baseVariable), defaultBase), of(keyVariable)
	if values[gatewayKey] == "" {
		return fmt.Errorf("the mapping %s has the service call models, and no gateway counts them here: set %s, and name it "+
			"with --daemon-env %[2]s", s.mapping.Name, keyVariable)
	}
	s.metered = true
	return nil
}

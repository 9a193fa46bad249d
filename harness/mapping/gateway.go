package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// The placeholders of variables by which a server that calls models reaches them through a gateway,
// which counts what they cost.
const (
	gatewayURL = "gateway"     // the base URL of the gateway, which ends in /v1
	gatewayKey = "gateway_key" // the key that the gateway takes
)

// The variables that a gateway sets, and by which a model is reached without one.
const (
	baseVariable = "OPENAI_BASE_URL"
	keyVariable  = "OPENAI_API_KEY"
	defaultBase  = "https://api.openai.com/v1"
)

// Models says who counts what the models cost that the service calls by itself.
func (m *Mapping) Models() result.Models {
	switch {
	case m.models != "":
		return m.models
	case m.Gateway():
		return result.ModelsGateway
	}
	return result.ModelsUnknown
}

// models says who counts what the models of this service cost. One that was running already was not
// given the address of a gateway.
func (s *Service) models() result.Models {
	if m := s.mapping.Models(); m != result.ModelsGateway || s.metered {
		return m
	}
	return result.ModelsUnknown
}

// Gateway reports whether the server that is started gets the address of a gateway.
func (m *Mapping) Gateway() bool {
	for _, value := range m.env {
		if value.uses(gatewayURL) || value.uses(gatewayKey) {
			return true
		}
	}
	return false
}

// gateway adds the values of the placeholders of a gateway: those that it has set in given, or else,
// in commands without one, those of the user, who must have named the key.
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

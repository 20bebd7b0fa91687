// The modules whose files contain the CustomResourceDefinitions that ../../crds.ts copies. Nothing is built from them.
module parley.test/crds

go 1.24.0

require (
	github.com/cert-manager/cert-manager v1.19.1
	github.com/kedacore/keda/v2 v2.18.1
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.4.0
)

// Renders the chart as Helm does, as far as the chart goes: the template engine and the functions are the
// same (text/template, sprig), what Helm adds to them is written here from its documentation. Helm itself
// is not in Debian; what only it can tell (helm lint, an upgrade, hooks) is not tested here.
//
//	render CHART RELEASE NAMESPACE [VALUES.yaml...]     the manifests, or an error
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// Values of a later file count more, member by member.
func merge(into, from map[string]interface{}) {
	for key, value := range from {
		old, isMap := into[key].(map[string]interface{})
		next, both := value.(map[string]interface{})
		if isMap && both {
			merge(old, next)
		} else if value == nil {
			delete(into, key)
		} else {
			into[key] = value
		}
	}
}

func readYAML(path string) (map[string]interface{}, error) {
	values := map[string]interface{}{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	return values, err
}

func functions(root *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	all["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	return all
}

func render(chart, release, namespace string, files []string) (string, error) {
	meta, err := readYAML(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	values, err := readYAML(filepath.Join(chart, "values.yaml"))
	for _, file := range files {
		if err == nil {
			var more map[string]interface{}
			more, err = readYAML(file)
			merge(values, more)
		}
	}
	if err != nil {
		return "", err
	}
	if os.Getenv("RENDER_VALUES") != "" {
		text, err := yaml.Marshal(values)
		return string(text), err
	}
	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(functions(root))
	var names []string
	err = filepath.Walk(filepath.Join(chart, "templates"), func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			text, readErr := os.ReadFile(path)
			if readErr != nil {
				return readErr
			}
			names = append(names, path)
			_, err = root.New(path).Parse(string(text))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	sort.Strings(names)
	data := map[string]interface{}{
		"Values": values,
		"Chart": map[string]interface{}{"Name": meta["name"], "Version": meta["version"],
			"AppVersion": meta["appVersion"]},
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm"},
	}
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, ".tpl") {
			continue
		}
		var out bytes.Buffer
		if err = root.ExecuteTemplate(&out, name, data); err != nil {
			return "", err
		}
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		if strings.TrimSpace(text) != "" && !strings.HasSuffix(name, "NOTES.txt") {
			fmt.Fprintf(&all, "---\n%s\n", text)
		}
	}
	return all.String(), nil
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "render CHART RELEASE NAMESPACE [VALUES.yaml...]")
		os.Exit(2)
	}
	text, err := render(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(text)
}

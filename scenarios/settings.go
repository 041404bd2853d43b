package scenarios

import "lockbench/service"

// settings reads the settings of a service's servers, in its own words.
func (r *reader) settings(on *Servers, e entry, of service.Service) {
	on.Settings = map[string]string{}
	list, _ := r.entries(e.value, e.path, e.key.text)
	for _, e := range list {
		if r.setting(e.key, of) {
			r.option(e, &on.Settings)
		}
	}
}

// setting says whether a scenario may give a setting. A server that does not know one ends
// at once, which would be told only after the world has waited for it.
func (r *reader) setting(w word, of service.Service) bool {
	all := of.Settings()
	s, known := find(all, settingName, w.text)
	switch {
	case len(all) == 0:
		return true
	case !known:
		r.unknown(w, names(freeSettings(of), settingName), "settings", "%s has no setting %q", of.Name(), w.text)
	case s.Decided != "":
		r.fail(w.at, "leave it out", "a scenario cannot set %s: %s", w.text, s.Decided)
	}
	return known && s.Decided == ""
}

// free are the settings of a service that a scenario may give.
func freeSettings(of service.Service) []service.Setting {
	var free []service.Setting
	for _, s := range of.Settings() {
		if s.Decided == "" {
			free = append(free, s)
		}
	}
	return free
}

func settingName(s service.Setting) string { return s.Name }

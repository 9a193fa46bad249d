package frontmatter_test

import (
	"testing"
	"time"

	"evalctl/daemon/frontmatter"
)

// Dates are read as people write them in each language that has names of months here.
func TestDatesInWords(t *testing.T) {
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	for language, dates := range map[string][]string{
		"en": {"Wednesday, May 8, 2024", "8th of May 2024", "the 8th May, 2024"},
		"de": {"8. Mai 2024", "Mittwoch, den 8. Mai 2024", "08.05.2024", "8.5.2024"},
		"fr": {"8 mai 2024", "mercredi 8 mai 2024", "le 8 mai 2024"},
		"es": {"8 de mayo de 2024", "miércoles, 8 de mayo de 2024", "8 mayo 2024"},
		"it": {"8 maggio 2024", "mercoledì 8 maggio 2024"}, "pt": {"8 de maio de 2024", "quarta-feira, 8 de maio de 2024"},
		"nl": {"8 mei 2024", "woensdag 8 mei 2024"}, "sv": {"8 maj 2024", "onsdagen den 8 maj 2024"}, "da": {"8. maj 2024", "onsdag d. 8. maj 2024"},
		"no": {"8. mai 2024"}, "fi": {"8. toukokuuta 2024", "8.5.2024"}, "hu": {"2024. május 8.", "2024. 05. 08."},
		"ro": {"8 mai 2024", "miercuri, 8 mai 2024"}, "tr": {"8 Mayıs 2024", "8 Mayıs 2024 Çarşamba"}, "pl": {"8 maja 2024", "8 maja 2024 r."},
		"cs": {"8. května 2024"}, "id": {"8 Mei 2024"}, "vi": {"8 tháng 5, 2024", "ngày 8 tháng 5 năm 2024"}, "ga": {"8 Bealtaine 2024"},
		"ru": {"8 мая 2024 г.", "8 мая 2024 года", "среда, 8 мая 2024"}, "uk": {"8 травня 2024 р.", "8 травня 2024 року"},
		"el": {"8 Μαΐου 2024"}, "ar": {"8 مايو 2024", "٨ مايو ٢٠٢٤", "8 أيار 2024"}, "fa": {"۸ مه ۲۰۲۴"}, "hi": {"8 मई 2024", "८ मई २०२४"}, "ta": {"8 மே 2024"},
		"zh": {"2024年5月8日", "2024 年 5 月 8 日"}, "ja": {"2024年5月8日(水)"}, "ko": {"2024년 5월 8일"},
	} {
		for _, date := range dates {
			doc := frontmatter.Parse("---\ndate: \"" + date + "\"\n---\nx")
			if doc.BadDate || !doc.When().Equal(day) {
				t.Errorf("%s: %q is read as %v", language, date, doc.When())
			}
		}
	}
	for _, date := range []string{"05/08/2024", "8 May", "May 2024", "31 avril 2024", "8 mai 24", "next 8 May 2024 maybe", "soon", "8 9 mai 2024", "8 พฤษภาคม 2567"} {
		if doc := frontmatter.Parse("---\ndate: \"" + date + "\"\n---\nx"); !doc.BadDate {
			t.Errorf("%q is read as %v", date, doc.When())
		}
	}
}

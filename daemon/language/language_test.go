package language

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"en", "She moved to Lisbon in 2021 and works for a bank there."},
		{"en", ""}, {"en", "12.5"}, {"en", "Lisbon"},
		{"en", "Go get 'em, Jon! Can't wait, it's gonna be fun."},
		{"en", "We had sushi at La Maison de l'Océan, and then tapas in El Corte Inglés."},
		{"en", "take the cat"},
		{"de", "Sie ist 2021 nach Lissabon gezogen und arbeitet dort für eine Bank."},
		{"fr", "Elle a déménagé à Lisbonne en 2021 et travaille pour une banque."},
		{"fr", "L'an dernier, j'ai mangé avec eux."},
		{"es", "Se mudó a Lisboa en 2021 y trabaja para un banco."},
		{"it", "Si è trasferita a Lisbona nel 2021 e lavora per una banca."},
		{"pt", "Ela mudou-se para Lisboa em 2021 e não trabalha mais no banco."},
		{"nl", "Ze is in 2021 naar Lissabon verhuisd en werkt daar voor een bank."},
		{"sv", "Hon flyttade till Lissabon 2021 och arbetar på en bank där."},
		{"da", "Hun flyttede til Lissabon i 2021 og arbejder nu hos en bank, hvor hun også bor."},
		{"no", "Hun flyttet til Lisboa i 2021, og nå jobber hun i en bank der også mannen hennes er."},
		{"fi", "Hän muutti Lissaboniin vuonna 2021 ja on töissä pankissa, joka oli hänen toiveensa."},
		{"hu", "2021-ben Lisszabonba költözött, és most egy bankban dolgozik, ami nagyon tetszik neki."},
		{"ro", "S-a mutat la Lisabona în 2021 și lucrează pentru o bancă din oraș."},
		{"tr", "2021'de Lizbon'a taşındı ve orada bir bankada çalışıyor, ama mutlu değil."},
		{"pl", "W 2021 roku przeprowadziła się do Lizbony i pracuje tam w banku, który jest duży."},
		{"cs", "V roce 2021 se přestěhovala do Lisabonu a pracuje tam v bance, která je velká."},
		{"id", "Dia pindah ke Lisbon pada tahun 2021 dan bekerja di sebuah bank."},
		{"vi", "Cô ấy chuyển đến Lisbon vào năm 2021 và làm việc cho một ngân hàng."},
		{"ru", "В 2021 году она переехала в Лиссабон."}, {"ru", "Лиссабон"},
		{"uk", "У 2021 році вона переїхала до Лісабона."},
		{"ar", "انتقلت إلى لشبونة في عام 2021 وتعمل في بنك."},
		{"fa", "او در سال ۲۰۲۱ به لیسبون رفت و در یک بانک کار می\u200cکند که بزرگ است."},
		{"hi", "वह 2021 में लिस्बन चली गई और एक बैंक में काम करती है।"},
		{"el", "Μετακόμισε στη Λισαβόνα το 2021."}, {"ta", "அவள் லிஸ்பனுக்கு சென்றாள்."},
		{"ja", "彼女は2021年にリスボンに引っ越した。"}, {"th", "เธอย้ายไปลิสบอนในปี 2021"},
		{"ko", "그녀는 2021년에 리스본으로 이사했다."}, {"", "היא עברה לליסבון"},
		{"th", "ทีมจาก NFL (Los Angeles Rams, San Diego Chargers) และ MLS (LA Galaxy)"},
		{"ru", "Купить Microsoft Windows и Adobe Photoshop"}, {"zh", "张伟 Lenovo ThinkPad"},
		{"en", "The Thai word for a snake is งู, and they call a cat แมว."}, {"en", "β carotene"}, {"en", "Felix 猫"},
	} {
		if got := Detect(c.text).String(); got != c.want {
			t.Errorf("Detect(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// Short notes show their language, names in English notes and source code show none.
func TestDetectNotes(t *testing.T) {
	for _, c := range []struct{ want, text string }{
		{"es", "Comprar leche y pan"}, {"es", "Reunión con Ana el lunes"}, {"es", "Me gusta el té verde"},
		{"tr", "Toplantı yarın saat üçte"}, {"tr", "Annem bugün aradı"}, {"tr", "Kahve bitti, yarın almam lazım"},
		{"de", "Milch kaufen"}, {"de", "Wir treffen uns morgen um acht"}, {"fr", "Acheter du pain"},
		{"fr", "Rendez-vous chez le dentiste mardi"}, {"pt", "Reunião com o Pedro na segunda"}, {"it", "Domani vado a Roma"},
		{"pl", "Zadzwonić do mamy w piątek"}, {"sv", "Köp mjölk imorgon"}, {"nl", "Morgen naar de tandarts"},
		{"vi", "Mua sữa và bánh mì"}, {"id", "Besok rapat jam sembilan"}, {"fi", "Kokous on maanantaina"},
		{"hu", "Holnap találkozom Annával"}, {"no", "Møte med Kari på fredag"}, {"da", "Aflys mødet med Søren"},
		{"ro", "Mâine merg la piață"}, {"ga", "Cheannaigh mé arán agus bainne inné"},
		{"en", "Call Jürgen Müller"}, {"en", "Dinner at La Maison"}, {"en", "Met Søren Kjær at the café"}, {"en", "Lunch with José"},
		{"en", "Die Hard is a good movie"}, {"en", "El Corte Inglés, Madrid"}, {"en", "no I am on a diet"},
		{"zxx", "for i := 0; i < len(do); i++ { to(do[i], w, z) }"},
		{"zxx", "def __init__(self, do, to):\n    self.do = do\n    self._to = to\n    return self.w(z, i)"},
		{"zxx", "SELECT a, o FROM w WHERE (i = 1) AND (do <> 'to') OR (z >= 7);"},
		{"zxx", "{\"na\": [1, 2], \"do\": {\"i\": \"to\", \"w\": null}}"},
		{"zh", "小李养了一只猫。"}, {"ja", "猫がいる。"}, {"lo", "ພາສາລາວ"}, {"km", "ភាសាខ្មែរ"}, {"my", "မြန်မာစာ"},
	} {
		if got := Detect(c.text).String(); got != c.want {
			t.Errorf("Detect(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// A text in two scripts of Southeast Asia is in the language of most of its letters, each time.
func TestDetectMixedScripts(t *testing.T) {
	for text, want := range map[string]string{
		"ພາສາລາວ ພາສາລາວ ไทย": "lo", "ภาษาไทย ภาษาไทย ລາວ": "th", "ភាសាខ្មែរ ភាសា မြန်": "km", "မြန်မာစာ မြန်မာ ខ្មែរ": "my",
	} {
		for range 200 {
			if got := Detect(text).String(); got != want {
				t.Fatalf("Detect(%q) = %q, want %q", text, got, want)
			}
		}
	}
}

// TestStemmers: every language that the linked stemmers are for is stemmed.
func TestStemmers(t *testing.T) {
	out, err := exec.Command("go", "list", "github.com/blevesearch/snowballstem/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("language.go")
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	for _, path := range packages[1:] {
		switch name := filepath.Base(path); name {
		case "english", "porter": // English is in english.go, and Porter's is an older one of it
		default:
			if !strings.Contains(string(source), "("+name+".Stem)") {
				t.Errorf("words of %s are not stemmed", name)
			}
		}
	}
	if len(packages) < 17 {
		t.Errorf("the stemmers are %q", packages)
	}
}

// Every language with a list is detected by a text of its own function words, and none by half a
// sentence of English with a name in it.
func TestDetectLists(t *testing.T) {
	for l, words := range wordLists(stopWordLists) {
		if len(words) == 0 {
			continue
		}
		if got := Detect(strings.Join(words, " ")); got != Language(l) {
			t.Errorf("the function words of %s are taken for %q", Language(l), got)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(words)))) != len(words) {
			t.Errorf("%s: a word is listed twice", Language(l))
		}
	}
}

func TestDetectAmong(t *testing.T) {
	german, french := Parse("de"), Parse("fr")
	for _, c := range []struct {
		text string
		want Language
	}{
		{"Wann starb Tesla?", german}, {"Où est Tesla ?", french}, {"When did Tesla die?", English},
		{"Tesla", None}, {"", None}, {"Когда?", None},
	} {
		if got := DetectAmong(c.text, []Language{English, german, french}); got != c.want {
			t.Errorf("DetectAmong(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// Forms of one word have one term, in the language of their text.
func TestForms(t *testing.T) {
	for _, c := range []struct{ language, forms, want string }{
		{"de", "Häuser Hauses Haus", "de:haus de:haus de:haus"},
		{"de", "die Straße, STRASSE", "de:strass de:strass"},
		{"fr", "l'eau d'Anna qu'il jusqu’au aujourd'hui", "fr:eau fr:anna fr:aujourdhui"},
		{"it", "dell'arte un'amica l'arte", "it:arte it:amic it:arte"},
		{"es", "canciones canción", "es:cancion es:cancion"},
		{"tr", "İstanbul'da ISTANBUL istanbul", "tr:istanbul tr:istanbul tr:istanbul"},
		{"ru", "новый нового ёлка елка", "нов нов елк елк"},
		{"ar", "الكتاب كتاب", "كتاب كتاب"},
		{"hi", "लड़के लड़का लड़कों", "लड़क लड़क लड़क"},
		{"el", "Αθήνα ΑΘΗΝΑ", "αθηνα αθηνα"},
		{"ru", "Berlin runs", "berlin run"},                   // as in an English text
		{"en", "новый нового", "нов нов"},                     // as in a Russian one
		{"en", "東京タワー", "東 東京 京 京タ タ タワ ワ ワー ー"},              // letters and pairs
		{"", "かが ガカ", "か かが が ガ ガカ カ"},                        // a voicing mark is no accent
		{"", "서울에서 한", "서 서울 울 울에 에 에서 서 한"},                  // also in Korean
		{"", "ที่นี่", "ที่ ที่นี่ นี่"},                      // two letters with their marks
		{"", "ພາສາລາວ", "ພ ພາ າ າສ ສ ສາ າ າລ ລ ລາ າ າວ ວ"},    // Lao
		{"", "ភាសាខ្មែរ", "ភា ភាសា សា សាខ្ ខ្ ខ្មែ មែ មែរ រ"}, // Khmer
		{"", "မြန်မာ", "မြ မြန် န် န်မာ မာ"},                  // Burmese
	} {
		got := strings.Join(Parse(c.language).Terms(c.forms), " ")
		if want := strings.Join(strings.Fields(c.want), " "); got != want {
			t.Errorf("the terms of %q in %q are %q, want %q", c.forms, c.language, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for tag, want := range map[string]string{
		"de": "de", "DE-AT": "de", " pt_BR ": "pt", "nb": "no", "nn-NO": "no", "": "", "xx": "", "deutsch": "", "-": "",
	} {
		if got := Parse(tag).String(); got != want {
			t.Errorf("Parse(%q) = %q, want %q", tag, got, want)
		}
	}
	for _, code := range Codes() {
		if Parse(code).String() != code {
			t.Errorf("%s is not parsed", code)
		}
	}
}
